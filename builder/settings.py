"""What levers, pairs and methods type: columns of their tables, and the changes that their scenarios make to the user's job."""
from __future__ import annotations

from builder.inputs import CHOICE_KINDS, choices_name, used_name
from builder.scenarios import NUMBER
from builder.specs import RecordColumn, Records

# What a share is taken of, where it is not the number in use: adapters on all layers are a blank.
SHARED_OF = {"adapter_top_layers": "adapter_layers"}


def settings(presets, source: str) -> list[tuple[object, bool]]:
    """(input, whether a share of it) that some record of a source sets, in the order of the inputs; pairs set what levers do."""
    records = presets.levers if source == "pairs" else getattr(presets, source)
    found = []
    for spec in presets.inputs:
        found += [(spec, False)] if any(spec.name in record.sets for record in records) else []
        found += [(spec, True)] if any(spec.name in getattr(record, "shares", {}) for record in records) else []
    return found


def column_name(prefix: str, spec, share: bool) -> str:
    """Name of the column that says what a record types into an input, or which share of it is left."""
    return f"{prefix}_{spec.name}_share" if share else f"{prefix}_{spec.name}"


def columns(presets, source: str, prefix: str) -> list[RecordColumn]:
    """A column for every input that a source sets; a pair has what either of its levers has."""
    found = []
    for spec, share in settings(presets, source):
        name = column_name(prefix, spec, share)
        heading = f"{spec.label}, share" if share else spec.label
        unit = "percent" if share else "choice" if spec.kind in CHOICE_KINDS else spec.unit
        if source == "pairs":
            one, other = (f"INDEX({column_name('lever', spec, share)}, pair_{which})" for which in ("first", "second"))
            found.append(RecordColumn(name=name, heading=heading, unit=unit, style="record", formula=f'IF({one}<>"", {one}, IF({other}<>"", {other}, ""))'))
        else:
            found.append(RecordColumn(name=name, heading=heading, unit=unit, style="record", field=f"{'shares' if share else 'sets'}.{spec.name}"))
    return found


def typed_columns(presets, prefix: str) -> list[RecordColumn]:
    """A column for every input, in which every row types what the input takes."""
    return [
        RecordColumn(name=f"{prefix}_{spec.name}", heading=spec.label, field=f"sets.{spec.name}", unit=spec.unit, typed=True) for spec in presets.inputs
    ]


def all_columns(presets, table: Records) -> list[RecordColumn]:
    """The columns of a table, those that follow from the inputs included."""
    found = list(table.columns)
    found += columns(presets, table.source, table.settings) if table.settings else []
    found += typed_columns(presets, table.inputs) if table.inputs else []
    return found


def changes(presets, source: str, prefix: str) -> dict[str, str]:
    """Row of the Workings -> its formula in the scenarios of a source; what a record leaves blank is as in the user's job."""
    found = {}
    for spec, share in settings(presets, source):
        cell, used = f"INDEX({column_name(prefix, spec, share)}, {NUMBER})", used_name(spec)
        if share:
            value = f"MAX(1, INT({SHARED_OF.get(spec.name, used)} * {cell}))"
        else:
            value = f"MATCH({cell}, {choices_name(spec)}, 0)" if spec.kind in CHOICE_KINDS else cell
        found[used] = f'IF({cell}="", {found.get(used, used)}, {value})'
    return found
