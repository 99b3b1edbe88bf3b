"""What to do about a job: the largest batch and sequence, cards, levers, LoRA or QLoRA, and example jobs beside it."""

from __future__ import annotations

from typing import Mapping

from builder.presets import Presets
from builder.reference import cheapest_change, crossover, inputs, largest, ledger_total, scenarios, smallest_card
from builder.reference.estimate import estimate, general
from builder.reference.inputs import Refusal
from builder.reference.sized import size


def outputs(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity of the estimate, and the four largest; those are None where an input is wrong.

    Raises UsageError when a name is not an input.
    """
    found, job = estimate(presets, typed), inputs.read(presets, typed)
    if isinstance(job, Refusal):
        return {**found, **dict.fromkeys(largest.OUTPUTS)}
    if not job.family.activations_modelled:
        return {**found, **dict.fromkeys(largest.OUTPUTS, ledger_total.NO_FIGURE)}
    return {**found, **largest.quantities(job, general(presets, job))}


def decisions(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Of a valid job, everything that Levers, Cards, QLoRA crossover and Scenarios show, by the name of the cell or column.

    A column is a list in the order of its sheet, without free rows; a cell that shows nothing is an empty text. None is what only
    lies beyond the last place: no card holds it. Raises ValueError for a job with an invalid input, or of a model whose activations
    are not modelled: those sheets give no figure for it.
    """
    sized = size(presets, typed)
    if not sized.modelled:
        raise ValueError(f"the activations of {sized.job.model.name} are not modelled")
    cards = smallest_card.in_order(presets, sized.job)
    return {
        **largest.quantities(sized.job, sized.shared),
        **smallest_card.quantities(presets, sized, cards),
        **cheapest_change.quantities(presets, typed, sized),
        **crossover.quantities(presets, typed, cards),
        **scenarios.quantities(presets, typed),
    }
