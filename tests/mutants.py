"""Small faults for a laid-out book: formulas with one thing changed, constants and properties off by a little, inputs exchanged."""
from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from builder.formula import Call, Formula, Name, Node, Number, Operation, read

Place = tuple[str, int, int]  # sheet, row, column, 0-based
Shown = Mapping[str, tuple]  # name -> what it shows in every job
Change = tuple[str, Node]  # what is changed, and the tree after it

SWAPS = {"+": "-", "-": "+", "*": "/", "/": "*", ">=": ">", ">": ">=", "<=": "<", "<": "<=", "=": "<>", "<>": "="}
TERMS = ("+", "-", "*", "/", "&")
LISTS = ("AND", "OR", "SUM", "MIN", "MAX")


@dataclass(frozen=True)
class Mutant:
    """A fault: what each cell it touches holds instead, and the input or preset it is about, if it is about one."""

    name: str
    cells: Mapping[Place, object]
    about: str = ""


def written(node: Node) -> str:
    """The text of a tree, every operation in brackets."""
    match node:
        case Operation(operator, (left, right)):
            return f"({written(left)}{operator}{written(right)})"
        case Call(function, arguments):
            return f"{function}({','.join(map(written, arguments))})"
        case Operation("negate", (operand,)):
            return f"(-{written(operand)})"
        case Operation():
            raise ValueError(f"templates use no other operator with one operand: {node}")
    return node.text


def changed_formulas(formula: Formula, other_name: Callable[[str], str | None]) -> Iterator[tuple[str, Formula]]:
    """The formula with one operator, term, branch, number or name changed at a time, and what was changed."""
    seen: Counter[str] = Counter()
    for what, tree in _changes(formula.tree, other_name):
        seen[what] += 1
        yield f"{what}, place {seen[what]}" if seen[what] > 1 else what, read(written(tree))


def _changes(node: Node, other_name: Callable[[str], str | None]) -> Iterator[Change]:
    yield from _own_changes(node, other_name)
    key = "operands" if isinstance(node, Operation) else "arguments"
    children = getattr(node, key, ())
    for index, child in enumerate(children):
        if isinstance(node, Call) and node.function == "MATCH" and index == 2:
            continue  # lists that happen to be in order are searched alike
        for what, changed in _changes(child, other_name):
            yield what, replace(node, **{key: (*children[:index], changed, *children[index + 1:])})


def _own_changes(node: Node, other_name: Callable[[str], str | None]) -> Iterator[Change]:
    match node:
        case Operation(operator, (left, right) as operands):
            if operator in SWAPS:
                yield f"{SWAPS[operator]} for {operator}", Operation(SWAPS[operator], operands)
            if operator in TERMS:
                yield f"without {operator} {written(right)}", left
                yield f"without {written(left)} {operator}", right
        case Operation("negate", (operand,)):
            yield "without -", operand
        case Call("IF", (condition, then, otherwise)):
            yield "branches swapped", Call("IF", (condition, otherwise, then))
        case Call(function, arguments) if function in LISTS and len(arguments) > 1:
            for index, argument in enumerate(arguments):
                yield f"without {written(argument)}", Call(function, (*arguments[:index], *arguments[index + 1:]))
        case Number("0" | "1" as text):
            other = "1" if text == "0" else "0"
            yield f"{other} for {text}", Number(other)
        case Name(text) if (other := other_name(text)) is not None:
            yield f"{other} for {text}", Name(other)


def formula_mutants(layout, shown: Shown) -> Iterator[Mutant]:
    """Every formula of the Workings, changed in every way; another name is one that some job tells apart."""
    about = {f"{spec.name}_{suffix}": spec.name for spec in layout.presets.inputs for suffix in ("typed", "problem", "used", "row")}
    for name, row in layout.rows.items():
        if row.text:
            for what, formula in changed_formulas(row.formula, _Others(layout, shown, name)):
                yield Mutant(f"{name}: {what}", {_place(layout, name): formula}, about.get(name, ""))


class _Others:
    """Another name for a name in the formula of one row: of the same unit and size, the last one before it that shows something else."""

    def __init__(self, layout, shown: Shown, row: str):
        self.layout, self.shown, self.row, self.order = layout, shown, row, list(layout.names)

    def __call__(self, name: str) -> str | None:
        if ":" in name:
            first, last = name.split(":")
            return f"{self.order[self.order.index(first) + 1]}:{last}"
        at = self.order.index(name)
        alike = [other for other in (*reversed(self.order[:at]), *self.order[at + 1:]) if self._like(other, name)]
        return next((other for other in alike if self.shown[other] != self.shown[name]), None)

    def _like(self, other: str, name: str) -> bool:
        areas, units = self.layout.names, self.layout.units
        if other in self.layout.rows and areas[other].row >= areas[self.row].row:
            return False  # below this row: a circle
        return units[other] == units[name] and areas[other].sheet == areas[name].sheet and _size(areas[other]) == _size(areas[name])


def _size(area) -> tuple[int, int]:
    return area.last_row - area.row, area.last_column - area.column


def _place(layout, name: str, below: int = 0) -> Place:
    area = layout.names[name]
    return area.sheet, area.row + below, area.column


def constant_mutants(layout) -> Iterator[Mutant]:
    """Every constant that a formula outside the Checks reads, a hundredth and one too large, or another text."""
    used = {name for _, formula in formulas(layout, but="Checks") for name in formula.names}
    for name, constant in layout.presets.constants.items():
        values = (f"{constant.value}?",) if isinstance(constant.value, str) else (constant.value * 1.01, constant.value + 1)
        for value in values if name in used else ():
            yield Mutant(f"{name} {value}", {_place(layout, name): value})


def formulas(layout, but: str = "") -> Iterator[tuple[Place, Formula]]:
    """Every formula of the book by its place, those of one sheet left out."""
    for sheet in layout.sheets:
        for (row, column), cell in sheet.cells.items():
            if isinstance(cell.content, Formula) and sheet.name != but:
                yield (sheet.name, row, column), cell.content


def choice_mutants(layout) -> Iterator[Mutant]:
    """Every number that a choice means and a formula reads: a switch turned over, another number a hundredth and one too large."""
    used = {name for _, formula in formulas(layout) for name in formula.names}
    for choices in layout.presets.choices.values():
        for key in (key for key in choices.rows[0] if key != "name" and f"{choices.name}_{key}" in used):
            column = [choice[key] for choice in choices.rows]
            for index, value in enumerate(column):
                for other in (1 - value,) if set(column) <= {0, 1} else (value * 1.01, value + 1):
                    if other != value:
                        yield Mutant(f"{choices.name} {choices.rows[index]['name']}: {key} {other}", {_place(layout, f"{choices.name}_{key}", index): other})


def preset_mutants(layout) -> Iterator[Mutant]:
    """Every field of every model and card that a formula of the Workings reads: one too large (1 for a blank), or Yes and No exchanged."""
    read_names = {name for row in layout.rows.values() if row.text for name in row.formula.names}
    for prefix, presets in (("model", layout.presets.models), ("card", layout.presets.cards)):
        for name, area in layout.names.items():
            if name.startswith(f"{prefix}_") and name in read_names - layout.rows.keys() - {f"{prefix}_offered"}:
                cells = next(sheet.cells for sheet in layout.sheets if sheet.name == area.sheet)
                for index, preset in enumerate(presets):
                    place = _place(layout, name, index)
                    if name.startswith("card_other_ecc") and cells[place[1:]].content is None:
                        continue  # a card says all of it or nothing, and one cell alone counts for nothing
                    yield Mutant(f"{preset.name}: {name}", {place: _other(cells[place[1:]].content, layout)}, preset.name)


def _other(value: object, layout) -> object:
    if value is None:
        return 1
    if isinstance(value, str) and value[:1].isdigit() and "." in value:
        return "8.0" if value.startswith("9.") else "9.0"  # a compute capability: Hopper or another
    if isinstance(value, str):
        *others, last = (family.name for family in layout.presets.families.values())
        return {"Yes": "No", "No": "Yes", last: others[0]}.get(value, last)
    return value + 1


def bound_mutants(layout) -> Iterator[Mutant]:
    """Every bound of an input, one lower and one higher."""
    for spec in layout.presets.inputs:
        for kind, value in (("minimum", spec.minimum), ("maximum", spec.maximum), ("above", spec.exclusive_minimum), ("below", spec.exclusive_maximum)):
            if value is not None and f"{spec.name}_{kind}" in layout.rows[f"{spec.name}_problem"].formula.names:
                for other in (value - 1, value + 1):
                    yield Mutant(f"{spec.name}_{kind} {other}", {_place(layout, f"{spec.name}_{kind}"): other}, spec.name)


def exchanged_inputs(layout) -> Iterator[Mutant]:
    """The name of every input exchanged with that of the next one of its unit; of any number where it is alone with its unit."""
    inputs = list(layout.presets.inputs)
    for index, spec in enumerate(inputs):
        others = inputs[index + 1:] + inputs[:index]
        other = next((item for item in others if item.unit == spec.unit), None) or next(item for item in others if item.unit != "choice")
        typed = {one: read(layout.rows[f"{one}_typed"].text.replace(one, two)) for one, two in ((spec.name, other.name), (other.name, spec.name))}
        cells = {_place(layout, f"{one}_typed"): formula for one, formula in typed.items()}
        yield Mutant(f"{spec.name} exchanged with {other.name}", cells, spec.name)
