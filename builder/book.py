"""Builds a book: load, check, lay out, evaluate, render."""
from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

from builder.check import check
from builder.evaluate import evaluate
from builder.layout import Layout, lay_out
from builder.presets import load as load_presets
from builder.render import render
from builder.template import ROOT, load_templates

DIST = ROOT.parent / "dist"


@dataclass(frozen=True)
class Built:
    """A book on disk."""

    path: Path
    cells: int
    formulas: int


def book_names(root: Path = ROOT) -> list[str]:
    """Every book that templates/books describes."""
    return sorted(path.stem for path in (root / "books").glob("*.yaml"))


def checked_layout(book: str, all_scenarios: bool = True) -> Layout:
    """Load presets and templates, lay the book out and check it.

    Raises the first located error of a preset, or one TemplateError with every finding of the checks.
    """
    layout = lay_out(load_presets(book=book), load_templates(book), all_scenarios)
    check(layout)
    return layout


def build(book: str, directory: Path = DIST, all_scenarios: bool = True) -> Built:
    """Build one book into a directory and say what came out."""
    layout = checked_layout(book, all_scenarios)
    values = evaluate(layout)
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / layout.templates.book.file
    render(layout, values, path)
    cells = sum(len(sheet.cells) for sheet in layout.sheets)
    return Built(path, cells, len(values))


def write_sums(directory: Path) -> Path:
    """SHA256SUMS of every book in a directory, as sha256sum -c reads it."""
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in sorted(directory.glob("*.xlsx"))]
    path = directory / "SHA256SUMS"
    path.write_text("".join(lines), encoding="utf-8")
    return path
