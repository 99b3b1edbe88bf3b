"""LoRA and QLoRA on every card and with every model. Units: bytes, GB (10^9 bytes), billions of parameters, shares as a ratio.

A method is the job with its base held in another way. With another model the job has that model's shape, no override, and adapters
on at most its layers. The largest model is that of most parameters as published, then the first by name whatever its case.

Source: this project's public interface; what each method types is its preset's.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from builder.presets import Presets
from builder.reference import break_even
from builder.reference.adapters import PROJECTIONS, adapted, targeted
from builder.reference.article_verdict import DOES_NOT_FIT
from builder.reference.ledger_total import NO_FIGURE, TIGHT, verdict
from builder.reference.shape import DIMENSIONS
from builder.reference.shown import BLANK, NONE, percent
from builder.reference.sized import Sized, size
from builder.reference.smallest_card import OnCard, at_least, drawn, roomiest, smallest

KEYS = ("lora", "int8", "qlora", "kbit")
"""Of the methods, in the order of the presets, in the names of columns."""
TARGET_INPUTS = ("lora_targets", *(f"target_{projection}" for projection in PROJECTIONS))
NO_TARGET = "no such target"
BILLION = 10**9

Columns = dict[str, list[object]]


def with_model(typed: Mapping[str, object], model: object) -> dict[str, object]:
    """What is typed for the same job with another model."""
    top = typed.get("adapter_top_layers")
    return {
        **typed,
        "base_model": model.name,
        **dict.fromkeys(f"{name}_override" for name in (*DIMENSIONS, "parameters")),
        "adapter_top_layers": top if top in (None, BLANK) else min(top, model.shape.layers),
    }


def share(card: OnCard, sized: Sized) -> float:
    """What a job leaves of a card's capacity."""
    return card.headroom_gb(sized.reserve) / card.place.capacity_gb


def takes_up(card: OnCard | None, sized: Sized) -> float:
    """What a job reserves on a card, workspaces included and before pages; 0 without one."""
    return sized.reserve + card.place.workspace if card else 0


def methods(presets: Presets, jobs: Sequence[Sized], cards: Sequence[OnCard]) -> Columns:
    """The job by method, on the user's card and on the smallest that holds it."""
    held = [smallest(cards, job.reserve) for job in jobs]
    pairs = list(zip(held, jobs))
    return {
        "method_name": [method.name for method in presets.methods],
        "method_total_gb": [job.ledger["total_gb"] for job in jobs],
        "method_headroom_gb": [job.ledger["headroom_gb"] for job in jobs],
        "method_verdict": [job.ledger["fit_verdict"] for job in jobs],
        "method_card": [card.called(job.job.uses_bf16) if card else NONE for card, job in pairs],
        "method_bf16_used": [int(job.job.uses_bf16) for job in jobs],
        "method_card_gb": [card.place.capacity_gb if card else BLANK for card in held],
        "method_card_headroom_gb": [card.headroom_gb(job.reserve) if card else BLANK for card, job in pairs],
        "method_card_share": [share(card, job) if card else BLANK for card, job in pairs],
        "method_at_least": [at_least(cards, job.reserve) for job in jobs],
        "method_row": list(range(1, len(jobs) + 1)),
        "method_reserve_bytes": [job.reserve for job in jobs],
        "method_place": [card and card.number for card in held],
        "method_held": [int(card is not None) for card in held],
        "method_taken_bytes": [takes_up(card, job) for card, job in pairs],
    }


def on_cards(jobs: Sequence[Sized], cards: Sequence[OnCard]) -> Columns:
    """Each method on every card."""
    places = [card.place for card in cards]
    found: Columns = {
        "fit_card": [card.called(True) for card in cards],
        "fit_place": [card.number for card in cards],
        "fit_row": [card.row for card in cards],
        "fit_shown": [1] * len(cards),
        "fit_room_bytes": [place.room_bytes for place in places],
        "fit_tight_room_bytes": [place.tight_room_bytes for place in places],
        "fit_capacity_gb": [place.capacity_gb for place in places],
        "fit_workspace_bytes": [place.workspace for place in places],
        "fit_context_bytes": [place.context for place in places],
    }
    for key, job in zip(KEYS, jobs):
        found[f"fit_{key}_gb"] = [place.size_gb(job.reserve) for place in places]
        found[f"fit_{key}_headroom_gb"] = [card.headroom_gb(job.reserve) for card in cards]
        found[f"fit_{key}_verdict"] = [verdict(place, job.peak, job.reserve) for place in places]
        found[f"fit_{key}_short"] = [TIGHT if place.is_enough(job.peak) else DOES_NOT_FIT for place in places]
    return found


def by_model(presets: Presets, typed: Mapping[str, object], cards: Sequence[OnCard]) -> tuple[Columns, list[list[Sized | None]]]:
    """Every model by method, and its jobs by method and model; None and no figure where there is no total."""
    models = presets.models
    families = [presets.families[model.family] for model in models]
    shown = [family.activations_modelled and has_target(presets, typed, family) for family in families]
    parameters = [size(presets, with_model(typed, model)).ledger["base_parameters"] if given else None for model, given in zip(models, shown)]
    ranks = {model.name: rank for rank, model in enumerate(by_size(models), 1)}
    billions = [(parameters[0] if count is None else count) / BILLION for count in parameters]
    found: Columns = {
        "by_name": [model.name for model in models],
        "by_parameters": [BLANK if count is None else count for count in parameters],
        "by_row": list(range(1, len(models) + 1)),
        "by_shown": [int(given) for given in shown],
        "by_no_figure": [NO_TARGET if family.activations_modelled else NO_FIGURE for family in families],
        # One that is not shown comes after all that may be, free rows included, so its rank depends on the workbook.
        "by_rank": [ranks[model.name] if given else None for model, given in zip(models, shown)],
        "plot_billions": billions,
        "card_line_from": min(billions),
        "card_line_to": max(billions),
    }
    every = []
    for key, method in zip(KEYS, presets.methods):
        jobs = [size(presets, {**with_model(typed, model), **method.sets}) if given else None for model, given in zip(models, shown)]
        every.append(jobs)
        found |= of_method(key, jobs, cards, found["by_no_figure"])
    return found, every


def has_target(presets: Presets, typed: Mapping[str, object], family: object) -> bool:
    """Whether a model of the family has one of the projections that are to be adapted."""
    choices = {name: typed.get(name, next(spec.default for spec in presets.inputs if spec.name == name)) for name in TARGET_INPUTS}
    switched_on = {projection: choices[f"target_{projection}"] == "Yes" for projection in PROJECTIONS}
    return bool(adapted(targeted(choices["lora_targets"], switched_on), family))


def of_method(key: str, jobs: Sequence[Sized | None], cards: Sequence[OnCard], otherwise: Sequence[str]) -> Columns:
    """Every model by one method: on the user's card, and on the smallest that holds it."""
    rows = [on_smallest(job, cards) for job in jobs]
    totals = [job.ledger["total_gb"] if job else text for job, text in zip(jobs, otherwise)]
    return {
        f"by_{key}_gb": totals,
        **{f"by_{key}_{name}": [row[name] for row in rows] for name in rows[0]},
        f"plot_{key}_gb": [total if job else totals[0] for total, job in zip(totals, jobs)],
    }


def on_smallest(job: Sized | None, cards: Sequence[OnCard]) -> dict[str, object]:
    """A job on the smallest card that holds it; blanks and zeros where it has no figures."""
    if job is None:
        return {"headroom_gb": BLANK, "card": BLANK, "reserve_bytes": 0, "place": 0, "held": 0, "taken_bytes": 0, "several": BLANK}
    card = smallest(cards, job.reserve)
    return {
        "headroom_gb": card.headroom_gb(job.reserve) if card else BLANK,
        "card": card.called(job.job.uses_bf16) if card else several(cards, job),
        "reserve_bytes": job.reserve,
        "place": card and card.number,
        "held": int(card is not None),
        "taken_bytes": takes_up(card, job),
        "several": several(cards, job),
    }


def several(cards: Sequence[OnCard], job: Sized) -> str:
    """How many of the roomiest card a job takes that no single one holds."""
    count = at_least(cards, job.reserve)
    return f"{count} x {roomiest(cards).name}" if count else NONE


def by_size(models: Sequence[object]) -> list[object]:
    """The largest first."""
    return sorted(models, key=lambda model: (-model.parameters.value, model.name.casefold()))


def taken(presets: Presets, every: Sequence[Sequence[Sized | None]], cards: Sequence[OnCard]) -> Columns:
    """The largest model that each card takes by method."""
    rows = {model.name: row for row, model in enumerate(presets.models)}
    order = [rows[model.name] for model in by_size(presets.models)]
    found: Columns = {
        "takes_card": [card.called(True) for card in cards],
        "takes_place": [card.number for card in cards],
        "takes_shown": [1] * len(cards),
        "takes_room_bytes": [card.place.room_bytes for card in cards],
        "takes_capacity_gb": [card.place.capacity_gb for card in cards],
    }
    for key, jobs in zip(KEYS, every):
        takes = [next((row for row in order if jobs[row] and card.place.fits(jobs[row].reserve)), None) for card in cards]
        chosen = [(card, None if row is None else jobs[row]) for card, row in zip(cards, takes)]
        found |= {
            f"takes_{key}_model": [job.job.model.name if job else NONE for _, job in chosen],
            f"takes_{key}_billions": [job.ledger["base_parameters"] / BILLION if job else BLANK for _, job in chosen],
            f"takes_{key}_headroom_gb": [card.headroom_gb(job.reserve) if job else BLANK for card, job in chosen],
            f"takes_{key}_taken_bytes": [takes_up(card, job) if job else 0 for card, job in chosen],
            f"takes_{key}_row": [0 if row is None else row + 1 for row in takes],
        }
    return found


def leaves(subject: str, otherwise: str, card: OnCard | None, sized: Sized) -> str:
    """Where a method fits, and what it leaves there."""
    return f"{subject} takes the {card.called(sized.job.uses_bf16)} and leaves {percent(share(card, sized))} of it" if card else otherwise


def sentence(lora: Sized, qlora: Sized, cards: Sequence[OnCard]) -> dict[str, object]:
    """Whether QLoRA on a smaller card is the more comfortable."""
    on_lora, on_qlora = smallest(cards, lora.reserve), smallest(cards, qlora.reserve)
    both = on_lora is not None and on_qlora is not None
    roomier = both and share(on_qlora, qlora) > share(on_lora, lora)
    words = ""
    if both and on_qlora.number < on_lora.number:
        words = "the smaller card fits it more comfortably" if roomier else "the smaller card fits it, but less comfortably"
    elif both:
        words = "it saves no card" if on_qlora == on_lora else "it needs the larger card"
    one = leaves("LoRA on BF16", "LoRA on BF16 fits no single card", on_lora, lora)
    other = leaves("QLoRA", "QLoRA fits no single card either", on_qlora, qlora)
    return {
        "lora_place": on_lora and on_lora.number,
        "qlora_place": on_qlora and on_qlora.number,
        "lora_leaves": one,
        "qlora_leaves": other,
        "both_held": int(both),
        "qlora_roomier": int(roomier),
        "crossover_sentence": f"{one}; {other}: {words}." if both else f"{one}; {other}.",
    }


def quantities(presets: Presets, typed: Mapping[str, object], cards: Sequence[OnCard]) -> dict[str, object]:
    """Everything that the QLoRA crossover sheet shows."""
    jobs = [size(presets, {**typed, **method.sets}) for method in presets.methods]
    models, every = by_model(presets, typed, cards)
    needs = [break_even.needs_of(job) for job in jobs]
    found = {**methods(presets, jobs, cards), **on_cards(jobs, cards), **models, **taken(presets, every, cards)}
    for key, method, other in list(zip(KEYS, presets.methods, needs))[1:]:
        found |= break_even.quantities(key, method.name, needs[0], other)
    for name, gb in zip(("first", "second", "third", "fourth"), drawn(presets, cards)):
        found |= {f"{name}_line_from": gb, f"{name}_line_to": gb}
    return {**found, "search_end": break_even.END, **sentence(jobs[0], jobs[2], cards)}
