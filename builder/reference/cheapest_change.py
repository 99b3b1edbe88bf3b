"""Every change to the job, alone and with another, and the cheapest that makes it fit. Units: GB (10^9 bytes).

Cheapest: the lower class of cost first (of a pair the higher of its two), then the more it saves, then the order of the presets,
which is by class and name. It must save something, and a pair more than either of its two alone.

Source: this project's public interface; what each lever types is its preset's.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Mapping, Sequence

from builder.presets import Presets
from builder.reference.article_verdict import FITS
from builder.reference.place import GB
from builder.reference.shown import BLANK, NONE, rounded
from builder.reference.sized import Sized, size

AS_IT_IS = "It fits as it is."
OF_LAYERS = "adapter_top_layers"
"""The input of which a share is taken of the layers that have adapters: a blank one means all."""


@dataclass(frozen=True)
class Change:
    """A lever, or two; `row` counts from 1, `alone_gb` is the most that a part of it saves alone."""

    row: int
    name: str
    cost_class: int
    total_gb: float
    saved_gb: float
    headroom_gb: float
    verdict: str
    alone_gb: float = 0

    @property
    def helps(self) -> bool:
        """Whether it makes the job fit, by what it saves: a byte or more, and of two together more than either alone.

        What is less than a byte is left by the order of a sum, which no two engines share.
        """
        return self.verdict == FITS and (self.saved_gb - max(0, self.alone_gb)) * GB >= 1

    @property
    def order(self) -> tuple[float, ...]:
        """The cheapest first."""
        return self.cost_class, -self.saved_gb, self.row


def typed_by(sized: Sized, lever: object) -> dict[str, object]:
    """What a lever types into inputs of this job."""
    numbers = {name: sized.shared["adapter_layers"] if name == OF_LAYERS else getattr(sized.job, name) for name in lever.shares}
    shares = {name: max(1, floor(numbers[name] * share)) for name, share in lever.shares.items()}
    return {**lever.sets, **shares}


def changed(presets: Presets, typed: Mapping[str, object], sized: Sized, row: int, name: str, cost_class: int, levers, alone_gb=0.0) -> Change:
    """The job with one or two levers pulled."""
    other = size(presets, {**typed, **{name: value for lever in levers for name, value in typed_by(sized, lever).items()}}).ledger
    saved = sized.ledger["total_gb"] - other["total_gb"]
    return Change(row, name, cost_class, other["total_gb"], saved, other["headroom_gb"], other["fit_verdict"], alone_gb)


def alone(presets: Presets, typed: Mapping[str, object], sized: Sized) -> list[Change]:
    """Each lever."""
    return [
        changed(presets, typed, sized, row, lever.name, lever.cost_class, [lever]) for row, lever in enumerate(presets.levers, 1)
    ]


def together(presets: Presets, typed: Mapping[str, object], sized: Sized, levers: Sequence[Change]) -> list[Change]:
    """Each pair of levers that change different inputs."""
    found = []
    for row, pair in enumerate(presets.pairs, 1):
        places = (pair["first"] - 1, pair["second"] - 1)
        cost_class, saved = (max(getattr(levers[place], name) for place in places) for name in ("cost_class", "saved_gb"))
        both = [presets.levers[place] for place in places]
        found.append(changed(presets, typed, sized, row, " + ".join(lever.name for lever in both), cost_class, both, saved))
    return found


def places(changes: Sequence[Change]) -> list[int]:
    """The place of each among those that help, from 1; 0 where it does not."""
    helping = sorted((change for change in changes if change.helps), key=lambda change: change.order)
    return [helping.index(change) + 1 if change.helps else 0 for change in changes]


def columns(prefix: str, changes: Sequence[Change]) -> dict[str, list[object]]:
    """A table of the Levers sheet."""
    shown = {"class": "cost_class", **{name: name for name in ("name", "total_gb", "saved_gb", "headroom_gb", "verdict", "row")}}
    found = {f"{prefix}_{column}": [getattr(change, name) for change in changes] for column, name in shown.items()}
    found[f"{prefix}_fits"] = [int(change.helps) for change in changes]
    found[f"{prefix}_place"] = places(changes)
    return found


def ranked(levers: Sequence[Change]) -> dict[str, list[object]]:
    """Levers by what they save, and the place of each."""
    order = sorted(levers, key=lambda lever: (-lever.saved_gb, lever.row))
    return {
        "lever_saved_place": [order.index(lever) + 1 for lever in levers],
        "ranked_name": [lever.name for lever in order],
        "ranked_place": list(range(1, len(order) + 1)),
        "ranked_saved_gb": [lever.saved_gb for lever in order],
        "ranked_total_gb": [lever.total_gb for lever in order],
    }


def cheapest(prefix: str, changes: Sequence[Change], fits: bool) -> dict[str, object]:
    """The cheapest by row, name, with what it saves, and where it is asked for."""
    found = min((change for change in changes if change.helps), key=lambda change: change.order, default=None)
    name = found.name if found else NONE
    note = f"{name} ({rounded(found.saved_gb, 1):f} GB less)" if found else NONE
    return {
        f"cheapest_{prefix}_row": found.row if found else 0,
        f"cheapest_{prefix}": name,
        f"cheapest_{prefix}_note": note,
        f"cheapest_{prefix}_shown": AS_IT_IS if fits else note,
    }


def quantities(presets: Presets, typed: Mapping[str, object], sized: Sized) -> dict[str, object]:
    """Everything that the Levers sheet shows, and the advice of the answer strip."""
    levers = alone(presets, typed, sized)
    pairs = together(presets, typed, sized, levers)
    verdict = sized.ledger["fit_verdict"]
    found = {**cheapest("lever", levers, verdict == FITS), **cheapest("pair", pairs, verdict == FITS)}
    texts = [presets.constants[name].value for name in ("advice_lever", "advice_pair")]
    advice = f"{texts[0]}{found['cheapest_lever_note']}{texts[1]}{found['cheapest_pair_note']}."
    return {
        **found,
        "levers_verdict": verdict,
        "lever_advice": BLANK if verdict == FITS else advice,
        **columns("lever", levers),
        **ranked(levers),
        **columns("pair", pairs),
        "pair_first": [pair["first"] for pair in presets.pairs],
        "pair_second": [pair["second"] for pair in presets.pairs],
    }
