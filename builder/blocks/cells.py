"""Cells of grids and strips: a text, a help text, a formula, or a quantity that is shown while the inputs are valid."""
from __future__ import annotations

from builder.errors import TemplateError, nearest
from builder.grid import Link, Sheet
from builder.specs import CellSpec
from builder.template import parse

# Shown in place of a figure while an input is wrong.
NO_FIGURE = "–"


def shown(name: str, condition: str = "inputs_valid") -> str:
    """Formula that shows a quantity while a condition holds, and no figure otherwise."""
    return f'IF({condition}, {name}, "{NO_FIGURE}")'


def quantity(layout, name: str, where: str):
    """The Workings row of a quantity; an unknown name is an error with the nearest valid one."""
    if name not in layout.rows:
        raise TemplateError(f"{where}: no quantity '{name}' in the Workings{nearest(name, layout.rows)}")
    return layout.rows[name]


def put_cell(layout, sheet: Sheet, row: int, column: int, spec: str | CellSpec, style: str = "label") -> None:
    """Place one cell of a template."""
    if isinstance(spec, str):
        spec = CellSpec(text=spec)
    where = f"sheet {sheet.name}, row {row + 1}"
    unit = spec.unit
    if spec.show is not None:
        unit = spec.unit if spec.unit != "text" else quantity(layout, spec.show, where).unit
        sheet.put(row, column, parse(shown(spec.show), where), spec.style or "output", unit, where=where)
    elif spec.formula is not None:
        sheet.put(row, column, parse(spec.formula, where), spec.style or "value", unit, where=where)
    elif spec.help is not None:
        sheet.put(row, column, spec.help, "help")
        sheet.grow(row, spec.help, column, 10)
    elif spec.link is not None:
        sheet.links.append(Link(row, column, spec.link, spec.text or spec.link))
    elif spec.file is not None:
        sheet.links.append(Link(row, column, spec.file, spec.text or spec.file, outside=True))
    elif spec.text:
        sheet.put(row, column, spec.text, spec.style or style)
        sheet.grow(row, spec.text, column)
    elif spec.style:
        sheet.put(row, column, None, spec.style)
    if spec.name:
        layout.define(spec.name, sheet.area(row, column), unit)
