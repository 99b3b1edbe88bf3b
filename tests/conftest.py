"""Engines as fixtures. A missing engine skips its tests, except in CI, where it fails them."""
from __future__ import annotations

import os
import time

import pytest

from builder.book import build
from builder.engines import Engine
from builder.engines.formualizer_engine import FormualizerEngine
from builder.engines.formulas_engine import FormulasEngine
from builder.engines.libreoffice import LibreOfficeEngine


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "oracle: a slow proof that compares a workbook with the reference over many scenarios")
    os.environ.setdefault("TRACE_SEED", str(int(time.time())))  # the workers of pytest-xdist inherit it


def pytest_terminal_summary(terminalreporter) -> None:
    """The seed of the jobs that were drawn to be traced, whenever some were."""
    reports = [report for outcome, found in terminalreporter.stats.items() if outcome != "deselected" for report in found]
    if any("test_trace_random.py" in getattr(report, "nodeid", "") for report in reports):
        terminalreporter.write_line(f"TRACE_SEED={os.environ['TRACE_SEED']}")


@pytest.fixture(scope="session")
def one_column(tmp_path_factory):
    """The book with the user's column alone: what does not need the other scenarios is proved on it, some twenty times as quick."""
    return build("finetune", tmp_path_factory.mktemp("one_column"), all_scenarios=False).path


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
