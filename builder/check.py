"""Checks a laid-out book before anything is written; every rule is a function whose docstring says what must hold."""
from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cached_property
from graphlib import CycleError, TopologicalSorter

from builder.blocks.records import source_records
from builder.errors import TemplateError, nearest
from builder.formula import MAX_LENGTH, MAX_NESTING, SAFE_FUNCTIONS, Call, Formula, FormulaSyntaxError, Number, nesting, walk
from builder.grid import Cell, range_name
from builder.specs import Grid, Workings
from builder.units import ANY, FREE, UnitMismatch, describe, dimension, suffix_unit

# FAST 3.03 and 3.06: a formula should be read at a glance, and IF should not nest.
LONGEST_AS_WRITTEN = 420
DEEPEST_IF = 2
# Units of cells that may hold anything.
UNCHECKED = ("number", "text", "choice", "coefficient")
# XlsxWriter drops a data validation whose texts exceed Excel's limits, with a warning only.
PROMPT_TITLE, PROMPT = 32, 255

Finding = tuple[str, str]  # (where, what)
Rule = Callable[["_Book"], Iterator[Finding]]
RULES: list[Rule] = []


class _Book:
    """A layout with its formulas gathered once: one entry per distinct formula and place of writing."""

    def __init__(self, layout):
        self.layout = layout
        self.formulas: list[tuple[str, Formula, Cell, tuple[str, int, int]]] = []
        seen: set[tuple[str, str]] = set()
        for sheet in layout.sheets:
            for (row, column), cell in sheet.cells.items():
                if isinstance(cell.content, Formula):
                    where = cell.where or f"sheet {sheet.name}, row {row + 1}"
                    if (where, cell.content.text) not in seen:
                        seen.add((where, cell.content.text))
                        self.formulas.append((where, cell.content, cell, (sheet.name, row, column)))

    def known(self, name: str) -> bool:
        return name in self.layout.names or range_name(name) in self.layout.names

    @cached_property
    def used(self) -> frozenset[str]:
        """Every name that a formula or a conditional format reads."""
        names = {range_name(name) for _, formula, _, _ in self.formulas for name in formula.names}
        for sheet in self.layout.sheets:
            for condition in sheet.conditions:
                names.update(re.findall(r"[a-z][a-z0-9_]+", condition.formula))
            for item in sheet.validations:
                names.update(re.findall(r"[a-z][a-z0-9_]+", f"{item.source} {item.maximum}"))
        return frozenset(names)


def rule(function: Rule) -> Rule:
    """Register a rule."""
    RULES.append(function)
    return function


def findings(layout) -> list[str]:
    """Every finding of every rule, one line each: where, what, and the rule."""
    book = _Book(layout)
    return [f"{where}: {what} ({each.__name__.replace('_', '-')}: {each.__doc__.splitlines()[0]})" for each in RULES for where, what in each(book)]


def check(layout) -> None:
    """Raise one TemplateError with all findings, if there are any."""
    found = findings(layout)
    if found:
        raise TemplateError("\n".join(found))


@rule
def legal_names(book: _Book) -> Iterator[Finding]:
    """A name is lower-case words that no spreadsheet takes for a cell, a row or column, or a function."""
    for name, area in book.layout.names.items():
        cell_like = re.fullmatch(r"[a-z]{1,3}[0-9]+|r|c|r[0-9]*c[0-9]*", name)
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name) or cell_like or name.upper() in SAFE_FUNCTIONS:
            yield area.a1(), f"the name '{name}' is not legal"


@rule
def known_names(book: _Book) -> Iterator[Finding]:
    """Every name in a formula is defined."""
    for where, formula, _, _ in book.formulas:
        for name in formula.names:
            if not book.known(name) and not any(name.startswith(f"{prefix}_") for prefix in book.layout.spans):
                yield where, f"no name '{name}' in this book{nearest(name, book.layout.names)}"


@rule
def safe_functions(book: _Book) -> Iterator[Finding]:
    """Formulas use only functions that every supported engine computes alike."""
    for where, formula, _, _ in book.formulas:
        for node in walk(_tree(formula, where)):
            if isinstance(node, Call) and node.function not in SAFE_FUNCTIONS:
                yield where, f"the function {node.function} is not in the safe subset{nearest(node.function, SAFE_FUNCTIONS)}"


@rule
def near_ranges(book: _Book) -> Iterator[Finding]:
    """A range runs between names of its own row or column; between names of the book Excel does not share it and engines do not read it."""
    for where, formula, cell, (_, row, column) in book.formulas:
        for first, last in cell.far_ranges(row, column):
            yield where, f"the range {first}:{last} in '{formula.text}' is between names of the book; name the range"


@rule
def no_constants(book: _Book) -> Iterator[Finding]:
    """A formula holds no number but 0 and 1; every other is a named constant with a source."""
    for where, formula, _, _ in book.formulas:
        for node in walk(_tree(formula, where)):
            if isinstance(node, Number) and node.text not in ("0", "1"):
                yield where, f"the number {node.text} in '{formula.text}'; give it a name in presets/constants.yaml"


@rule
def short_formulas(book: _Book) -> Iterator[Finding]:
    """A formula is short, does not nest IF, and stays within Excel's limits of length and nesting."""
    for where, formula, cell, (_, row, column) in book.formulas:
        tree = _tree(formula, where)
        if len(formula.text) > LONGEST_AS_WRITTEN:
            yield where, f"{len(formula.text)} characters as written, more than {LONGEST_AS_WRITTEN}"
        if nesting(tree, "IF") > DEEPEST_IF:
            yield where, f"IF nested {nesting(tree, 'IF')} deep, more than {DEEPEST_IF}: '{formula.text}'"
        if nesting(tree) > MAX_NESTING:
            yield where, f"nested {nesting(tree)} deep, more than {MAX_NESTING}"
        if all(map(book.known, formula.names)) and len(book.layout.place(cell, row, column, absolute=True)) > MAX_LENGTH:
            yield where, f"more than {MAX_LENGTH} characters once placed"


@rule
def units_agree(book: _Book) -> Iterator[Finding]:
    """A formula comes out in the unit of its row, and a name that ends in a unit has that unit."""
    units = book.layout.templates.units

    def of_name(name: str):
        unit = book.layout.unit_of(name)
        if unit == "coefficient":
            return FREE
        return units[unit].dimension if unit in units and unit not in UNCHECKED else ANY

    for where, formula, cell, _ in book.formulas:
        if cell.unit is None:
            continue
        if cell.unit not in units:
            yield where, f"no unit '{cell.unit}'{nearest(cell.unit, units)}"
            continue
        try:
            found = dimension(_tree(formula, where), of_name)
        except UnitMismatch as error:
            yield where, f"{error} in '{formula.text}'"
            continue
        if found not in (ANY, FREE) and found != units[cell.unit].dimension and cell.unit not in UNCHECKED:
            yield where, f"'{formula.text}' comes out in {describe(found)}, not in {cell.unit}"
    for name, unit in book.layout.units.items():
        expected = suffix_unit(name)
        if expected and unit in units and units[unit].dimension != units[expected].dimension:
            yield book.layout.names[name].a1(), f"the name '{name}' has the unit {unit}"


@rule
def no_cycles(book: _Book) -> Iterator[Finding]:
    """No quantity depends on itself."""
    at = {}
    for name, area in book.layout.names.items():
        sheet = next(sheet for sheet in book.layout.sheets if sheet.name == area.sheet)
        cell = sheet.cells.get((area.row, area.column))
        if cell is not None and isinstance(cell.content, Formula):
            at[name] = [range_name(part) for part in cell.content.names]
    try:
        tuple(TopologicalSorter(at).static_order())
    except CycleError as error:
        yield book.layout.names[error.args[1][0]].a1(), "these depend on each other: " + " <- ".join(error.args[1])


@rule
def nothing_unused(book: _Book) -> Iterator[Finding]:
    """Every quantity of a line item and every constant is read by some formula or shown on some sheet."""
    if not book.layout.all_scenarios:
        return
    used = book.used
    places = {row.name: row.where for line in book.layout.templates.lines for row in line.rows}
    places |= dict.fromkeys(book.layout.presets.constants, "presets/constants.yaml")
    for name, where in places.items():
        if name not in used and not any(f"{prefix}_{name}" in used for prefix in book.layout.spans):
            yield where, f"nothing reads '{name}'"


@rule
def inputs_of_scenarios_shown(book: _Book) -> Iterator[Finding]:
    """What a record says of an input stands in its table, from which its scenario reads it; else the scenario computes another job."""
    layout = book.layout
    for sheet in layout.templates.sheets if layout.all_scenarios else ():
        for block in sheet.blocks:
            for group in block.scenarios if isinstance(block, Workings) else ():
                if group.source.startswith("measured/"):
                    records = source_records(layout.presets, group.source)
                    for spec in layout.presets.inputs:
                        if any(record.get(spec.name) is not None for record in records) and layout.table_column(group.source, spec.name) is None:
                            yield f"sheet {sheet.name}, scenarios '{group.title}'", f"no table shows '{spec.name}' of presets/{group.source}.csv"


@rule
def prompts_fit(book: _Book) -> Iterator[Finding]:
    """Input messages are within the lengths that Excel shows."""
    for sheet in book.layout.sheets:
        for item in sheet.validations:
            for text, limit in ((item.title, PROMPT_TITLE), (item.prompt, PROMPT), (item.error, PROMPT)):
                if len(text) > limit:
                    yield f"sheet {sheet.name}, row {item.row + 1}", f"{len(text)} characters, more than {limit}: '{text[:40]}...'"


@rule
def even_grids(book: _Book) -> Iterator[Finding]:
    """Every row of a grid has as many cells as its headings, or as its first row; an unquoted comma makes one more."""
    for sheet in book.layout.templates.sheets:
        for block in sheet.blocks:
            if isinstance(block, Grid):
                expected = len(block.headings or block.rows[0])
                for cells in block.rows:
                    if len(cells) != expected:
                        yield f"sheet {sheet.name}, grid '{block.title}'", f"{len(cells)} cells, not {expected}, in the row that starts with {cells[0]!r}"


@rule
def known_styles(book: _Book) -> Iterator[Finding]:
    """Every cell has a style of the theme and a unit of the unit table."""
    theme, units = book.layout.templates.theme.styles, book.layout.templates.units
    for sheet in book.layout.sheets:
        for (row, _), cell in sheet.cells.items():
            if cell.style not in theme:
                yield f"sheet {sheet.name}, row {row + 1}", f"no style '{cell.style}'{nearest(cell.style, theme)}"
            if cell.unit is not None and cell.unit not in units:
                yield f"sheet {sheet.name}, row {row + 1}", f"no unit '{cell.unit}'{nearest(cell.unit, units)}"


def _tree(formula: Formula, where: str):
    try:
        return formula.tree
    except FormulaSyntaxError as error:
        raise TemplateError(f"{where}: {error}") from None
