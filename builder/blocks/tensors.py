"""The table of tensors: what each is, its bytes, and how many of them are alive at each moment of a step."""
from __future__ import annotations

from builder.blocks.grids import place_grid
from builder.errors import TemplateError, nearest
from builder.grid import Sheet, column_letter
from builder.specs import CellSpec, Grid, Moment, Tensor, Tensors

NONE = "0"


def place(layout, sheet: Sheet, spec: Tensors, row: int) -> int:
    """One row per tensor; `ledger_<moment>_column` is the range below the heading of a moment."""
    moments = [moment.name for moment in spec.moments]
    for tensor in spec.rows:
        if tensor.saved and (tensor.count or tensor.alive is not None or tensor.otherwise):
            raise TemplateError(f"sheet {sheet.name}, '{tensor.tensor}': saved by each layer, so count, alive and otherwise follow from the moments; leave them out")
        for name in (*(tensor.alive or ()), *tensor.otherwise):
            if name not in moments:
                raise TemplateError(f"sheet {sheet.name}, '{tensor.tensor}': no moment '{name}'{nearest(name, moments)}")
    headings = [*spec.headings, *(moment.heading for moment in spec.moments)]
    start = sheet.first_column + len(spec.headings)
    names = {column_letter(start + offset): f"ledger_{name}_column" for offset, name in enumerate(moments)}
    rows = [_cells(spec, tensor) for tensor in spec.rows]
    return place_grid(layout, sheet, Grid(kind="grid", headings=headings, rows=rows, names=names), row)


def _cells(spec: Tensors, tensor: Tensor) -> list[str | CellSpec]:
    """What, where, shape, bytes per element, how many, bytes, and the bytes alive at each moment."""
    in_all = f"{spec.saved_count} * ({tensor.bytes})" if tensor.saved else tensor.bytes
    return [
        tensor.tensor,
        tensor.where,
        tensor.shape,
        _cell(tensor.element, "bytes/element"),
        _cell(spec.saved_count if tensor.saved else tensor.count, "count"),
        *(_cell(formula, "bytes") for formula in (in_all, *(_alive(tensor, moment) for moment in spec.moments))),
    ]


def _alive(tensor: Tensor, moment: Moment) -> str:
    """Formula of the bytes that are alive at a moment."""
    if tensor.saved:
        return f"{moment.layers} * ({tensor.bytes})" if moment.layers else NONE
    always = tensor.alive is None or moment.name in tensor.alive
    return tensor.otherwise.get(moment.name, tensor.bytes if always else NONE)


def _cell(formula: str | None, unit: str) -> str | CellSpec:
    return "" if formula is None else CellSpec(formula=formula, unit=unit)
