"""Engines as fixtures. A missing engine skips its tests, except in CI, where it fails them."""
from __future__ import annotations

import os

import pytest

from builder.engines import Engine
from builder.engines.formualizer_engine import FormualizerEngine
from builder.engines.formulas_engine import FormulasEngine
from builder.engines.libreoffice import LibreOfficeEngine


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "oracle: a slow proof that compares a workbook with the reference over many scenarios")


def _installed(engine: type[Engine]) -> type[Engine]:
    if not engine.available():
        message = f"the engine {engine.name} is not installed; `make test` sets it up"
        pytest.fail(message) if os.environ.get("CI") else pytest.skip(message)
    return engine


@pytest.fixture(scope="session")
def engine_formulas() -> type[Engine]:
    return _installed(FormulasEngine)


@pytest.fixture(scope="session")
def engine_formualizer() -> type[Engine]:
    return _installed(FormualizerEngine)


@pytest.fixture(scope="session")
def engine_libreoffice() -> type[Engine]:
    return _installed(LibreOfficeEngine)
