"""Speed and size of build, check and recalculation, as ratios within one run: `make bench`. Prints; never fails."""
from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import xlsxwriter
from rich.console import Console
from rich.table import Table

from builder.book import book_names, build, checked_layout
from builder.engines import ENGINES
from builder.evaluate import evaluate
from builder.formula import Formula
from builder.layout import lay_out
from builder.presets import load
from builder.render import render
from builder.template import load_templates

RUNS = 3
MODELS = 60  # the book must stay within its size and its time with so many, and with those that ship


def seconds(action: Callable[[], object], runs: int = RUNS) -> float:
    """Median wall time of an action after one warm-up."""
    action()
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def bare_writer(layout, path: Path) -> Callable[[], None]:
    """XlsxWriter writing the same cells and nothing else: no formats, names, validations or charts."""
    cells = []
    for sheet in layout.sheets:
        placed = []
        for (row, column), cell in sheet.cells.items():
            if isinstance(cell.content, Formula):
                placed.append((row, column, "=" + layout.place(cell, row, column)))
            elif cell.content is not None:
                placed.append((row, column, cell.content if isinstance(cell.content, (int, float, bool)) else str(cell.content)))
        cells.append((sheet.name, placed))

    def write() -> None:
        book = xlsxwriter.Workbook(str(path), {"strings_to_urls": False})
        for name, placed in cells:
            sheet = book.add_worksheet(name)
            for row, column, value in placed:
                if isinstance(value, str) and value.startswith("="):
                    sheet.write_formula(row, column, value)
                elif isinstance(value, str):
                    sheet.write_string(row, column, value)
                else:
                    sheet.write_number(row, column, value)
        book.close()

    return write


def with_models(presets, count: int):
    """The presets with `count` models, or as many as there are: copies under other names are added."""
    copies = [model.model_copy(update={"name": f"{model.name} again", "slug": f"{model.slug}-again"}) for model in presets.models]
    return replace(presets, models=(*presets.models, *copies[: max(0, count - len(presets.models))]))


def large_layout(book: str):
    """The book with MODELS models, laid out."""
    return lay_out(with_models(load(book=book), MODELS), load_templates(book))


def build_large(book: str, path: Path) -> Path:
    """The book with MODELS models."""
    layout = large_layout(book)
    render(layout, evaluate(layout), path)
    return path


def main() -> None:
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        for book in book_names():
            table = Table("measure", "value", "goal", title=f"{book}, median of {RUNS} runs")
            with console.status(f"measuring {book}"):
                built = build(book, Path(folder))
                build_s = seconds(lambda: build(book, Path(folder)))
                bare_s = seconds(bare_writer(checked_layout(book), Path(folder) / "bare.xlsx"))
                table.add_row("build, imports left out", f"{build_s:.2f} s", "")
                table.add_row("XlsxWriter, the same cells bare", f"{bare_s:.2f} s", "")
                table.add_row("build / bare", f"{build_s / bare_s:.2f}", "at most 2.5")
                table.add_row("check, imports left out", f"{seconds(lambda: checked_layout(book)):.2f} s", "")
                table.add_row("size", f"{built.path.stat().st_size / 1000:,.0f} kB", "under 1,500 kB")
                table.add_row("cells, formulas", f"{built.cells:,}, {built.formulas:,}", "")
                table.add_row("formualizer: open, recalculate, read every formula", f"{seconds(lambda: recalculate(built.path), 2):.2f} s", "")
                if ENGINES["libreoffice"].available():
                    table.add_row("LibreOffice: load and recalculate", f"{statistics.median(load_seconds(built.path) for _ in range(3)):.2f} s", "under 4 s")
                large = build_large(book, Path(folder) / "large.xlsx")
                large_s, large_bare_s = seconds(lambda: build_large(book, large), 1), seconds(bare_writer(large_layout(book), Path(folder) / "bare.xlsx"), 1)
                table.add_row(f"build / bare with {MODELS} models", f"{large_s / large_bare_s:.2f}", "at most 2.5")
                table.add_row(f"size with {MODELS} models", f"{large.stat().st_size / 1000:,.0f} kB", "under 1,500 kB")
                if ENGINES["libreoffice"].available():
                    table.add_row(f"LibreOffice with {MODELS} models", f"{statistics.median(load_seconds(large) for _ in range(3)):.2f} s", "under 4 s")
            console.print(table)


def recalculate(path: Path) -> None:
    with ENGINES["formualizer"].open(path) as session:
        session.all_cells()


def load_seconds(path: Path) -> float:
    with ENGINES["libreoffice"].open(path) as session:
        return session.load_seconds


if __name__ == "__main__":
    main()
