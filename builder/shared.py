"""Shared formulas: of adjacent cells that hold one formula, the first holds its text and the others its number.

Written out, formulas that differ from their neighbour in a column letter or a row number alone double the size of a book. XlsxWriter
cannot share them, so a worksheet class does it here.
"""
from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xlsxwriter.worksheet import Worksheet

from builder.formula import Formula
from builder.grid import Cell, column_letter

LEAST = 3  # two cells are as long either way
ACROSS, DOWN = (0, 1), (1, 0)

Place = tuple[int, int]  # row and column, 0-based


def find_runs(cells: Mapping[Place, Cell]) -> list[tuple[Place, ...]]:
    """Adjacent cells of one row or of one column that can share a formula, from the top; no cell is in two runs.

    One formula in one scope is the same formula in every cell: the scope gives each the references of its own column or row, and
    the names of the book are the same everywhere.
    """
    formulas = {at: cell for at, cell in cells.items() if isinstance(cell.content, Formula) and cell.scope is not None}
    across = _runs(formulas, ACROSS)
    taken = {at for run in across for at in run}
    down = _runs({at: cell for at, cell in formulas.items() if at not in taken}, DOWN)
    return sorted(run for run in across + down if _may_be_shared(cells[run[0]], *run[0]))


def _runs(cells: Mapping[Place, Cell], step: tuple[int, int]) -> list[tuple[Place, ...]]:
    """The longest runs in one direction."""
    found = []
    for at, cell in cells.items():
        if _alike(cells.get((at[0] - step[0], at[1] - step[1])), cell):
            continue  # not the first of its run
        run = [at]
        while _alike(cells.get(after := (run[-1][0] + step[0], run[-1][1] + step[1])), cell):
            run.append(after)
        if len(run) >= LEAST:
            found.append(tuple(run))
    return found


def _alike(one: Cell | None, other: Cell) -> bool:
    return one is not None and one.scope is other.scope and one.content == other.content


def _may_be_shared(cell: Cell, row: int, column: int) -> bool:
    """Whether Excel shares such a formula: it does not where a range runs between two names of the book (PtgRange in [MS-XLSB] 2.5.98.98).

    References to other sheets are ruled out there as well; formulas have none, they use names.
    """
    return not cell.far_ranges(row, column)


def _a1(row: int, column: int) -> str:
    return f"{column_letter(column)}{row + 1}"


class SharingWorksheet(Worksheet):
    """A worksheet in which runs of cells share their formula."""

    def __init__(self) -> None:
        super().__init__()
        self.shares: dict[str, str] = {}  # A1 reference -> attributes of its <f>

    def share(self, runs: Iterable[Sequence[Place]]) -> None:
        """Let the cells of each run share the formula that is written into its first; what is written into the others does not matter."""
        for number, run in enumerate(runs):
            self.shares.update({_a1(*at): f't="shared" si="{number}"' for at in run[1:]})
            self.shares[_a1(*run[0])] = f't="shared" ref="{_a1(*run[0])}:{_a1(*run[-1])}" si="{number}"'

    def _xml_formula_element(self, formula, result, attributes=()) -> None:
        """Overrides XlsxWriter's writer of `<c><f>formula</f><v>result</v></c>`."""
        share = self.shares.get(dict(attributes)["r"])
        if share is None:
            super()._xml_formula_element(formula, result, attributes)
            return
        cell = "".join(f' {key}="{self._escape_attributes(value)}"' for key, value in attributes)
        text = f">{self._escape_data(formula)}</f>" if " ref=" in share else "/>"
        self.fh.write(f"<c{cell}><f {share}{text}<v>{self._escape_data(result)}</v></c>")
