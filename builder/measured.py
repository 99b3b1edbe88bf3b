"""Tables of measured runs: CSV files whose columns, where they have the name of an input, hold what to type into it."""
from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from builder.errors import PresetError
from builder.option_schema import Input
from builder.preset_checks import problem_of
from builder.schema import Scalar

_WHOLE = re.compile(r"-?[0-9]+")
_NUMBER = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def read_rows(path: Path, inputs: Iterable[Input], offered: Mapping[str, Sequence[str]]) -> list[dict[str, Scalar | None]]:
    """Rows of a CSV file. A column is numbers where every filled cell is a plain number, else text; a blank cell is None.

    Raises PresetError with line and column number (of the table) where the table is not rectangular, a heading is missing or
    stands twice, or a cell under an input's name is not valid for that input. `offered` are names by kind of input.
    """
    header, *lines = _lines(path)
    for column, name in enumerate(header, 1):
        if not name or name in header[: column - 1]:
            raise PresetError(f"the heading '{name}' stands twice" if name else "a heading is missing", path, 1, column)
    for number, line in enumerate(lines, 2):
        if len(line) != len(header):
            raise PresetError(f"{len(line)} cells, but {len(header)} headings", path, number, min(len(line), len(header)) + 1)
    columns = [_column([line[index] for line in lines]) for index in range(len(header))]
    rows = [dict(zip(header, cells)) for cells in zip(*columns)]
    _check_inputs(path, header, rows, inputs, offered)
    return rows


def _lines(path: Path) -> list[list[str]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            lines = list(csv.reader(file, strict=True))
    except OSError as error:
        raise PresetError(f"cannot be read: {error.strerror}", path) from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise PresetError(f"not a CSV file in UTF-8: {error}", path) from None
    if len(lines) < 2:
        raise PresetError("no rows", path)
    return lines


def _column(cells: list[str]) -> list[Scalar | None]:
    numbers = all(_NUMBER.fullmatch(cell) for cell in cells if cell)
    return [None if cell == "" else (int(cell) if _WHOLE.fullmatch(cell) else float(cell)) if numbers else cell for cell in cells]


def _check_inputs(path: Path, header: list[str], rows: list[dict], inputs: Iterable[Input], offered: Mapping[str, Sequence[str]]) -> None:
    for item in inputs:
        if item.name not in header:
            continue
        names = [choice.name for choice in item.choices] if item.choices else offered.get(item.kind)
        for number, row in enumerate(rows, 2):
            value = row[item.name]
            wrong = ("" if item.blank == "allowed" else "a blank is not allowed") if value is None else problem_of(item, value, names)
            if wrong:
                raise PresetError(f"{item.name}: {wrong}", path, number, header.index(item.name) + 1)
