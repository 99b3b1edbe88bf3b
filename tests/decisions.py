"""The decision sheets of a workbook by whole columns, beside what the reference says of them."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from builder.engines import ErrorValue, Session
from builder.engines.workbook_file import Cell
from builder.presets import Presets
from builder.verify import equal

SHEETS = ("Levers", "Cards", "QLoRA crossover", "Scenarios")
# Cells without a name of their own: sheet, the label in column A of their row, column -> the quantity that they show.
GRIDS = {
    ("Levers", "Cheapest single change", 2): "cheapest_lever_shown",
    ("Levers", "Cheapest pair", 2): "cheapest_pair_shown",
    ("Cards", "Cards of the largest kind that it would take at the least", 2): "cards_at_least",
    ("Cards", "In a sentence", 2): "cards_sentence",
    ("QLoRA crossover", "LoRA or QLoRA", 2): "crossover_sentence",
    **{("QLoRA crossover", label, column): f"break_even_{key}_{what}"
       for label, key in (("LoRA on INT8", "int8"), ("QLoRA", "qlora"), ("QLoRA, k-bit prepared", "kbit"))
       for column, what in ((2, "tokens"), (3, "note"))},
}
# Working columns that go on in free rows, and those that charts draw there as in the first row; all others are blank or 0 in them.
GOES_ON = re.compile(r"\w+_(place|row|rank|short)")
LONG = re.compile(r"\d[\d,]{11,}")
DRAWN = re.compile(r"plot_\w+")


def name_cells(session: Session) -> Session:
    """The session, with a name for every cell of a named column (`name[1]` is its first) and for those of GRIDS."""
    names = session.file.names
    for column, cells in session.file.columns.items():
        names.update({f"{column}[{number}]": cell for number, cell in enumerate(cells, 1)})
    rows = {(cell.sheet, text): cell.row for cell, text in session.file.constants.items()
            if cell.column == 1 and Cell(cell.sheet, cell.row, 2) in session.file.formulas}
    names.update({f"shown_{quantity}": Cell(sheet, rows[sheet, label], column) for (sheet, label, column), quantity in GRIDS.items() if (sheet, label) in rows})
    return session


def read(session: Session, typed: Mapping[str, object], names: Iterable[str]) -> dict[str, list[object]]:
    """Every value of columns (or single cells) by name, after inputs were typed."""
    cells = {name: [f"{name}[{number}]" for number in range(1, len(session.file.columns[name]) + 1)] if name in session.file.columns else [name]
             for name in names}
    values = session.evaluate(typed, [cell for each in cells.values() for cell in each])
    return {name: [values[cell] for cell in each] for name, each in cells.items()}


def settings(presets: Presets) -> dict[str, list[object]]:
    """What the tables of levers, pairs and methods say that each of them types, by column; an empty text for nothing."""
    found: dict[str, list[object]] = {}
    for prefix, records in (("lever", presets.levers), ("method", presets.methods)):
        for name in {name for record in records for name in record.sets}:
            found[f"{prefix}_{name}"] = [record.sets.get(name, "") for record in records]
    for name in {name for lever in presets.levers for name in lever.shares}:
        found[f"lever_{name}_share"] = [lever.shares.get(name, "") for lever in presets.levers]
    for column in [column for column in found if column.startswith("lever_")]:
        both = ([found[column][pair[which] - 1] for pair in presets.pairs] for which in ("first", "second"))
        found[column.replace("lever_", "pair_", 1)] = [one if one != "" else other for one, other in zip(*both)]
    return found


def shown(expected: Mapping[str, object]) -> dict[str, object]:
    """The expected values, with those of GRIDS by the names of their cells as well."""
    return {**expected, **{f"shown_{quantity}": expected[quantity] for quantity in GRIDS.values() if quantity in expected}}


def differences(found: Mapping[str, Sequence[object]], expected: Mapping[str, object]) -> list[tuple[str, int, object, object]]:
    """(name, number of its cell, book, reference) of every cell that is not what the reference says, free rows included."""
    wrong = []
    for name, values in found.items():
        wanted = expected[name] if isinstance(expected[name], list) else [expected[name]]
        wrong += [(name, number, value, want) for number, (value, want) in enumerate(zip(values, wanted), 1)
                  if not agrees(name, value, want, len(expected["cards_name"] if name.endswith("_place") else wanted))]
        wrong += [(name, number, value, "a free row") for number, value in enumerate(values[len(wanted):], len(wanted) + 1)
                  if not _is_free(name, value, values[0])]
        wrong += [(name, len(values), "missing", want) for want in wanted[len(values):]]
    return wrong


def agrees(name: str, value: object, want: object, count: int) -> bool:
    """Whether a cell shows what the reference says; the place of a card, or of a model, that there is not lies beyond the last."""
    if want is None and name.endswith(("_place", "_rank")):
        return value > count
    if isinstance(value, str) and isinstance(want, str) and not isinstance(value, ErrorValue):
        return alike(value, want)
    return equal("" if value is None else value, want)


def alike(one: str, other: str) -> bool:
    """Whether two texts are the same; numbers of more than nine digits in them need only agree to nine, as others do."""
    numbers = [[float(number.replace(",", "")) for number in LONG.findall(text)] for text in (one, other)]
    return LONG.sub("#", one) == LONG.sub("#", other) and all(equal(*pair) for pair in zip(*numbers))


def _is_free(name: str, value: object, first: object) -> bool:
    if GOES_ON.fullmatch(name):
        return not isinstance(value, ErrorValue)
    return equal(value, first) if DRAWN.fullmatch(name) else value in (None, "", 0)


# The lines from which the largest batch and sequence are solved


LINE_COLUMNS = ("line_batch_0", "line_batch_1", *(f"line_{part}_{power}" for part in ("open", "narrow", "wide") for power in (0, 1, 2)))


def line_names(session: Session) -> list[str]:
    """The quantity of each row of the table of lines: the text in it that names a cell of the book."""
    column = session.file.columns[LINE_COLUMNS[0]]
    named = {cell.row: text for cell, text in session.file.constants.items() if cell.sheet == column[0].sheet and text in session.file.names}
    return [named[cell.row] for cell in column]


def on_lines(lines: Mapping[str, Sequence[float]], names: Sequence[str], kind: str, at: int) -> dict[str, float]:
    """What each line gives: `batch` at so many sequences, `open` and `masked` (the larger of narrow and wide) at so many tokens."""
    def curve(prefix: str, row: int) -> float:
        return sum(lines[f"line_{prefix}_{power}"][row] * at**power for power in (0, 1, 2) if f"line_{prefix}_{power}" in lines)

    parts = ("narrow", "wide") if kind == "masked" else (kind,)
    return {name: max(curve(part, row) for part in parts) for row, name in enumerate(names)}


def needed(on_line: Mapping[str, float], chunk_bytes: float, fused: bool) -> dict[str, float]:
    """Points, peak and what the default allocator reserves, from what the lines give and the chunk of a fused loss."""
    points = {name: value for name, value in on_line.items() if name.startswith("point_")}
    points["point_loss_bytes"] += chunk_bytes
    peak = max(points.values())
    terms = [value for name, value in on_line.items() if name.startswith("reserve_") and name != "reserve_floor_bytes"]
    reserve = peak + on_line["fused_beside_bytes"] if fused else max(peak, on_line["reserve_floor_bytes"], min(terms))
    return {**points, "traced_peak_bytes": peak, "default_reserve_bytes": reserve}
