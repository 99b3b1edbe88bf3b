"""Example jobs side by side: what a row leaves blank is as the user typed it. Units: GB (10^9 bytes), utilization a ratio.

Source: this project's public interface; what each row types is its preset's.
"""

from __future__ import annotations

from typing import Mapping, Sequence

from builder.presets import Presets
from builder.reference.books import estimate, reference
from builder.reference.shown import BLANK


def row(presets: Presets, typed: Mapping[str, object], sets: Mapping[str, object]) -> dict[str, object]:
    """The columns of one row, which types `sets`; figures are blank where one of its inputs is wrong."""
    found, book = estimate(presets, {**typed, **sets}), reference(presets.book)
    given = found.get("activations_modelled", 1) == 1
    valid = found["input_message"] == ""
    figures = {**{f"{column}_gb": found[name] for column, name in book.SHOWN.items()}, **{column: found[name] for column, name in book.OTHERS.items()}}
    return {
        "verdict": found["fit_verdict"],
        **{name: value if valid else BLANK for name, value in figures.items()},
        **(article(found, valid) if "article_covered" in found else {}),
        "message": found["input_message"],
        "valid": int(valid),
        "given": int(valid and given),
        "plot_gb": found["total_gb"] if valid and given else 0,
        "plot_capacity_gb": found["gpu_capacity_gb"] if valid else 0,
    }


def article(found: Mapping[str, object], valid: bool) -> dict[str, object]:
    """What the article says of a row, in books that have its accounting."""
    covered = valid and found["article_covered"] == 1
    return {
        "article_gb": found["article_total_gb"] if covered else BLANK,
        "article_verdict": found["article_fit_verdict"],
        "covered": int(covered),
    }


def columns(presets: Presets, typed: Mapping[str, object], rows: Sequence[Mapping[str, object]]) -> dict[str, list[object]]:
    """The table of rows by what each types."""
    found = [row(presets, typed, sets) for sets in rows]
    return {f"scenarios_{name}": [each[name] for each in found] for name in found[0]}


def quantities(presets: Presets, typed: Mapping[str, object]) -> dict[str, list[object]]:
    """Everything that the Scenarios sheet shows of the examples."""
    examples = presets.scenarios
    return {
        "scenarios_name": [example.name for example in examples],
        "scenarios_row": list(range(1, len(examples) + 1)),
        "scenarios_shown": [1] * len(examples),
        **columns(presets, typed, [example.sets for example in examples]),
    }
