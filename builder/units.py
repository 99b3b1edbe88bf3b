"""Units of quantities: their number formats, and the dimension that a formula comes out in."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from builder.formula import Call, Logical, Name, Node, Number, Operation, Text

Dimension = frozenset[tuple[str, int]]
COUNT: Dimension = frozenset()
# A value that takes any unit: the literal 0, text shown in place of a number, NA().
ANY = None
# A coefficient, whose unit is that of whatever it multiplies over a power of something: what is computed from one goes unchecked.
FREE: Dimension = frozenset({("free", 0)})


class UnitMismatch(ValueError):
    """Two operands whose units do not go together; the caller adds file and line."""


@dataclass(frozen=True)
class Unit:
    """A unit: `dimension` for the check, `format` for the cells that show it."""

    name: str
    dimension: Dimension
    format: str


# Suffix of a name -> unit, for table columns and as a rule for quantities.
SUFFIX_UNITS = {"_gb": "GB", "_gib": "GiB", "_mib": "MiB", "_bytes": "bytes", "_bytes_per_parameter": "bytes/parameter"}


def suffix_unit(name: str) -> str | None:
    """The unit that a name ends in, None if it ends in none or in a rate such as `bytes_per_gb`."""
    if "_per_" in name and not name.endswith("_bytes_per_parameter"):
        return None
    return next((unit for suffix, unit in SUFFIX_UNITS.items() if name.endswith(suffix)), None)


def read_units(data: Mapping[str, Mapping]) -> dict[str, Unit]:
    """Units from templates/units.yaml."""
    return {name: Unit(name, frozenset(spec["dimension"].items()), spec["format"]) for name, spec in data.items()}


def dimension(node: Node, of_name: Callable[[str], Dimension | None]) -> Dimension | None:
    """Dimension of a formula tree, ANY where every unit will do.

    Raises UnitMismatch where a sum, comparison or choice mixes dimensions.
    """
    match node:
        case Number(text):
            return ANY if float(text) == 0 else COUNT
        case Text() | Logical():
            return ANY if isinstance(node, Text) else COUNT
        case Name(text):
            return of_name(text.split(":")[0])
        case Operation(operator, operands):
            return _of_operation(operator, [dimension(operand, of_name) for operand in operands])
        case Call(function, arguments):
            return _of_call(function, [dimension(argument, of_name) for argument in arguments])
    raise TypeError(node)


def _of_operation(operator: str, parts: list[Dimension | None]) -> Dimension | None:
    if operator in ("*", "/"):
        left, right = (part or COUNT for part in parts)
        return FREE if FREE in parts else _product(left, right, 1 if operator == "*" else -1)
    if operator == "^":
        if any(part not in (ANY, COUNT, FREE) for part in parts):
            raise UnitMismatch("a power of a quantity with a unit")
        return FREE if FREE in parts else COUNT
    if operator == "&":
        return ANY
    common = _same(parts, f"'{operator}'")
    return common if operator in ("+", "-", "negate", "plus", "%") else COUNT


def _of_call(function: str, parts: list[Dimension | None]) -> Dimension | None:
    if function in ("SUM", "MIN", "MAX", "IFERROR"):
        return _same(parts, function)
    if function == "IF":
        return _same(parts[1:], "IF")
    if function == "CHOOSE":
        return _same(parts[1:], "CHOOSE")
    if function in ("INDEX", "ABS", "INT", "ROUND", "ROUNDUP", "ROUNDDOWN", "SUMPRODUCT"):
        return parts[0]
    if function in ("MOD", "CEILING", "FLOOR"):
        return _same(parts, function)
    if function in ("NA", "TEXT", "LEFT", "MID", "RIGHT", "SUBSTITUTE", "REPT"):
        return ANY
    if function in ("SUMIF", "SUMIFS"):
        return parts[-1] if function == "SUMIF" else parts[0]
    return COUNT


def _same(parts: list[Dimension | None], where: str) -> Dimension | None:
    if FREE in parts:
        return FREE
    found = {part for part in parts if part is not ANY}
    if len(found) > 1:
        raise UnitMismatch(f"{where} mixes {' and '.join(sorted(map(describe, found)))}")
    return next(iter(found), ANY)


def _product(left: Dimension, right: Dimension, sign: int) -> Dimension:
    powers = dict(left)
    for base, power in right:
        powers[base] = powers.get(base, 0) + sign * power
    return frozenset((base, power) for base, power in powers.items() if power)


def describe(dimension_: Dimension | None) -> str:
    """A dimension in words, such as `byte GB^-1`; a count where it is empty."""
    if dimension_ is ANY:
        return "any unit"
    return " ".join(base if power == 1 else f"{base}^{power}" for base, power in sorted(dimension_)) or "a count"
