"""Verifies a workbook: recalculates it and compares it with the Python reference, and its cached values with the recalculated ones."""
from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path

from openpyxl.utils.datetime import to_excel

from builder import presets as preset_files
from builder.engines import Engine, ErrorValue, Session, Value, by_name, workbook_file
from builder.engines.workbook_file import Cell, WorkbookFile
from builder.errors import VerifyError
from builder.own_rows import with_own_rows
from builder.presets import Presets
from builder.schema import BOOKS
from builder.reference import estimate_outputs, outputs, public_outputs

RELATIVE_TOLERANCE = 1e-9
# A difference of two numbers that are nearly equal (a headroom) keeps fewer digits than they have.
ABSOLUTE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Row:
    """One quantity in the workbook and in the reference; `reference` is None where it is unavailable."""

    name: str
    book: Value
    reference: object
    agrees: bool


@dataclass(frozen=True)
class StaleCell:
    """A formula cell whose cached value is not what its formula gives."""

    sheet: str
    cell: str
    cached: object
    recalculated: Value


@dataclass(frozen=True)
class VerifyResult:
    """What a verification found: the inputs as typed in the file, every quantity compared, and cells whose cached value is stale."""

    engine: str
    inputs: Mapping[str, object]
    rows: tuple[Row, ...]
    stale: tuple[StaleCell, ...]

    @property
    def agrees(self) -> bool:
        return not self.stale and all(row.agrees for row in self.rows)


def verify(path: Path | str, engine: type[Engine] | str, presets: Presets | None = None) -> VerifyResult:
    """Verify a workbook with an engine, given itself or by name.

    Raises UsageError for a file that is no workbook, VerifyError for one without the public names, and EngineMissing.
    """
    engine = by_name(engine) if isinstance(engine, str) else engine
    with engine.open(path) as session:
        presets = presets or preset_files.load(book=book_of(session.file))
        _require_names(session, presets)
        recalculated = session.recalculated()
        presets = with_own_rows(presets, session.file, {**session.file.constants, **recalculated})
        inputs = session.evaluate({}, [spec.name for spec in presets.inputs])
        expected = outputs(presets, inputs)
        rows = compare(session.evaluate({}, names_in_both(session, expected)), expected, public_outputs(presets.book))
        stale = stale_cells(cached_values(session.file), recalculated)
    return VerifyResult(engine.name, inputs, rows, stale)


def book_of(file: WorkbookFile) -> str:
    """The book whose inputs a workbook names; of a file that has not all of any, the one that it comes nearest to."""
    inputs = {book: [spec.name for spec in preset_files.load(book=book).inputs] for book in BOOKS}
    return max(BOOKS, key=lambda book: sum(name in file.names for name in inputs[book]) / len(inputs[book]))


def names_in_both(session: Session, expected: Mapping[str, object]) -> list[str]:
    """The quantities of the reference that the book names as well."""
    return [name for name in expected if name in session.file.names]


def compare(found: Mapping[str, Value], expected: Mapping[str, object], public: Collection[str]) -> tuple[Row, ...]:
    """Every value of the book, beside the reference's of the same name.

    Where the reference withholds a working (an input is wrong, or the article does not cover the job) the book may still show it:
    only `public` outputs must be withheld.
    """
    return tuple(
        Row(name, value, expected[name], equal(value, expected[name]))
        for name, value in found.items() if expected[name] is not None or name in public
    )


def equal(book: Value, reference: object) -> bool:
    """Whether a value of the book is the reference's: texts alike, numbers to nine digits, an error or "" where it is unavailable."""
    if reference is None:
        return isinstance(book, ErrorValue) or book == ""
    if isinstance(reference, str) or isinstance(book, str) or book is None:
        return not isinstance(book, ErrorValue) and book == reference
    return math.isclose(book, reference, rel_tol=RELATIVE_TOLERANCE, abs_tol=ABSOLUTE_TOLERANCE)


def _require_names(session: Session, presets: Presets) -> None:
    missing = [name for name in (*(spec.name for spec in presets.inputs), *estimate_outputs(presets.book)) if name not in session.file.names]
    if missing:
        raise VerifyError(f"{session.file.path}: not a workbook of this project, or one of another version: no cell is named {', '.join(missing)}")


def cached_values(file: WorkbookFile) -> dict[Cell, Value]:
    """The value that a workbook shows in each formula cell before anything recalculates it."""
    book = workbook_file.load(file.path, cached_values=True)
    return {cell: _cached_value(book[cell.sheet][cell.a1], book.epoch) for cell in file.formulas}


def stale_cells(cached: Mapping[Cell, Value], recalculated: Mapping[Cell, Value]) -> tuple[StaleCell, ...]:
    """Those of the recalculated cells whose cached value differs."""
    return tuple(StaleCell(cell.sheet, cell.a1, cached[cell], value) for cell, value in recalculated.items() if not _same(cached[cell], value))


def _cached_value(cell, epoch: datetime) -> Value:
    if cell.value is None:
        return ""  # an empty text and no value at all look alike in the file
    if cell.data_type == "e":
        return ErrorValue(cell.value)
    return to_excel(cell.value, epoch) if isinstance(cell.value, date) else cell.value


def _same(cached: object, recalculated: Value) -> bool:
    """Alike; any error is like any other, because engines differ in which one they show."""
    if isinstance(recalculated, ErrorValue) or isinstance(cached, ErrorValue):
        return isinstance(recalculated, ErrorValue) and isinstance(cached, ErrorValue)
    return equal(recalculated, cached)
