"""The job on every card, the smallest first, and the smallest that holds it. Units: bytes, GB (10^9 bytes), percent as a ratio.

Cards are ordered by what a process can use, then by name whatever its case. What the user says of the capacity of the own card does
not count here. Where no card holds the job: how many of the one with the largest room it takes at the least, as if what is reserved
could be split without loss; no number of them is enough where more is in use than any card has.

Source: this project's public interface; the cards' presets.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import ceil
from typing import Callable, Mapping, Sequence

from builder.presets import Presets
from builder.reference.largest import Needs, maxima
from builder.reference.ledger_total import verdict
from builder.reference.place import Place, place_of
from builder.reference.shown import BLANK, NONE, number
from builder.reference.sized import Sized


@dataclass(frozen=True)
class OnCard:
    """A card at its place in the order (from 1), with its row among the presets (from 1)."""

    number: int
    row: int
    name: str
    place: Place
    lack: str  # " (no native BF16)" where that is so

    def called(self, uses: bool) -> str:
        """The name, and what the card lacks for a job that uses BF16."""
        return self.name + self.lack * uses

    def headroom_gb(self, reserve: float) -> float:
        """What a job that reserves so much leaves there."""
        return self.place.headroom_gb(reserve)


def in_order(presets: Presets, job: object, place_of: Callable[[object], Place] = place_of) -> list[OnCard]:
    """Every card as the job finds it; `place_of` says how a job of its kind does."""
    lack = f" ({presets.constants['no_native_bf16'].value})"
    ordered = sorted(enumerate(presets.cards, 1), key=lambda each: (each[1].memory.usable_mib, each[1].name.casefold()))
    return [
        OnCard(number, row, card.name, place_of(replace(job, card=card, gpu_capacity_override_gb=None)), "" if card.native_bf16 else lack)
        for number, (row, card) in enumerate(ordered, 1)
    ]


def smallest(cards: Sequence[OnCard], reserve: float) -> OnCard | None:
    """The first that holds a job which reserves so much without the workspaces."""
    return next((card for card in cards if card.place.fits(reserve)), None)


def roomiest(cards: Sequence[OnCard]) -> OnCard:
    """The first with the largest room."""
    return max(cards, key=lambda card: card.place.room_bytes)


def at_least(cards: Sequence[OnCard], reserve: float) -> int | None:
    """How many of the roomiest card the job takes at the least; None where not even that has room."""
    room = roomiest(cards).place.room_bytes
    return ceil(reserve / room) if room > 0 else None


def short(cards: Sequence[OnCard], sized: Sized) -> dict[str, object]:
    """The smallest card, the least number of the largest one, and both in a sentence."""
    held, most, count = smallest(cards, sized.reserve), roomiest(cards), at_least(cards, sized.reserve)
    found = NONE if held is None else held.name
    if held:
        sentence = f"The smallest card that holds the job is {held.called(sized.job.uses_bf16)}."
    elif count:
        sentence = f"No card here holds the job; it takes at least {number(count)} of {most.name}."
    else:
        sentence = "No card here holds the job."
    return {
        "most_room_bytes": max(0, most.place.room_bytes),
        "largest_card": most.name if count else BLANK,
        "smallest_place": held and held.number,
        "smallest_card": found,
        "smallest_card_shown": found,
        "cards_at_least": count,
        "cards_sentence": sentence,
    }


def columns(cards: Sequence[OnCard], sized: Sized, largest: Callable[[Place], Mapping[str, int]]) -> dict[str, list[object]]:
    """The table of the Cards sheet; `largest` gives the columns of the largest jobs of a card."""
    most = [largest(card.place) for card in cards]
    totals = [card.place.size_gb(sized.reserve) for card in cards]
    return {
        "cards_name": [card.name for card in cards],
        "cards_capacity_gb": [card.place.capacity_gb for card in cards],
        "cards_total_gb": totals,
        "cards_headroom_gb": [card.headroom_gb(sized.reserve) for card in cards],
        "cards_utilization": [total / card.place.capacity_gb for total, card in zip(totals, cards)],
        "cards_verdict": [verdict(card.place, sized.peak, sized.reserve) for card in cards],
        **{name: [found[name] for found in most] for name in most[0]},
        "cards_bf16": [card.lack.strip(" ()") * sized.job.uses_bf16 for card in cards],
        "cards_lack": [card.lack for card in cards],
        "cards_place": [card.number for card in cards],
        "cards_row": [card.row for card in cards],
        "cards_room_bytes": [card.place.room_bytes for card in cards],
        "cards_free_bytes": [card.place.free_bytes for card in cards],
        "cards_workspace_bytes": [card.place.workspace for card in cards],
        "cards_shown": [1] * len(cards),
    }


def drawn(presets: Presets, cards: Sequence[OnCard]) -> list[float]:
    """Capacities in GB of the four cards that the charts draw."""
    capacities = {card.name: card.place.capacity_gb for card in cards}
    return [capacities[presets.constants[f"chart_card_{name}"].value] for name in ("first", "second", "third", "fourth")]


def sweep(presets: Presets, cards: Sequence[OnCard], place: Place, reserve: Callable[[int], float]) -> dict[str, list[object]]:
    """The job at other sequences, for which it reserves so much, beside what its own card and four others hold."""
    lengths = [choice.value for choice in presets.choices["sequence_sweep"].choices]
    yours, *others = ([gb] * len(lengths) for gb in (place.capacity_gb, *drawn(presets, cards)))
    return {
        "sweep_tokens": lengths,
        "sweep_total_gb": [place.size_gb(reserve(length)) for length in lengths],
        "sweep_yours_gb": yours,
        **{f"sweep_{name}_gb": column for name, column in zip(("first", "second", "third", "fourth"), others)},
        "sweep_row": list(range(1, len(lengths) + 1)),
    }


def quantities(presets: Presets, sized: Sized, cards: Sequence[OnCard], needs: Needs) -> Mapping[str, object]:
    """Everything that the Cards sheet shows of a training job."""

    def largest(place: Place) -> dict[str, int]:
        found = maxima(sized.job, needs, place)
        return {"cards_max_batch": found["max_batch_size"], "cards_max_sequence": found["max_sequence_length"]}

    return {**short(cards, sized), **columns(cards, sized, largest), **sweep(presets, cards, place_of(sized.job), lambda length: needs(sized.job.batch_size, length)[1])}
