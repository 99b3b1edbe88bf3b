"""Spreadsheet engines that recalculate a workbook and read it by name: formulas, formualizer and LibreOffice."""
from __future__ import annotations

from builder.engines.formualizer_engine import FormualizerEngine
from builder.engines.formulas_engine import FormulasEngine
from builder.engines.libreoffice import LibreOfficeEngine
from builder.engines.session import Engine, ErrorValue, Session, Value
from builder.errors import UsageError, nearest

ENGINES: dict[str, type[Engine]] = {engine.name: engine for engine in (FormulasEngine, FormualizerEngine, LibreOfficeEngine)}


def by_name(name: str) -> type[Engine]:
    """The engine of this name.

    Raises UsageError for a name that no engine has.
    """
    if name not in ENGINES:
        raise UsageError(f"there is no engine '{name}'{nearest(name, ENGINES)}")
    return ENGINES[name]


__all__ = ["ENGINES", "Engine", "ErrorValue", "Session", "Value", "by_name"]
