"""A copy of the shipped presets to break, and what is said of it."""
from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from builder.errors import PresetError
from builder.presets import ROOT, load
from builder.schema import Book


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A copy of the shipped presets."""
    return Path(shutil.copytree(ROOT, tmp_path / "presets"))


def refused(root: Path, book: Book = "finetune") -> PresetError:
    with pytest.raises(PresetError) as raised:
        load(root, book)
    return raised.value


def change(path: Path, old: str, new: str) -> None:
    """Replace the one place in a file that has the text."""
    text = path.read_text(encoding="utf-8")
    assert text.count(old) == 1, f"{old!r} stands {text.count(old)} times in {path.name}"
    path.write_text(text.replace(old, new), encoding="utf-8")


def line_of(path: Path, text: str) -> int:
    """The number of the first line with the text."""
    return next(number for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1) if text in line)
