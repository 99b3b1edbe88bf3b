"""Version, preset digest and the change log, which is CHANGELOG.md: one place for both."""
from __future__ import annotations

from datetime import date
from pathlib import Path

from builder import __version__
from builder.blocks.texts import place_headings, place_title
from builder.errors import TemplateError
from builder.grid import Sheet
from builder.specs import ChangeLog

CHANGELOG = Path(__file__).resolve().parents[2] / "CHANGELOG.md"


def read_changes(path: Path = CHANGELOG) -> list[tuple[str, date, list[str]]]:
    """(version, date, sentences) per release, newest first, from headings `## 1.2.3 - 2026-11-30` and their list items."""
    releases: list[tuple[str, date, list[str]]] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("## "):
            version, _, day = line[3:].partition(" - ")
            try:
                releases.append((version.strip(), date.fromisoformat(day.strip()), []))
            except ValueError:
                raise TemplateError(f"{path}:{number}: heading must be '## version - YYYY-MM-DD', found '{line}'") from None
        elif line.startswith("- ") and releases:
            releases[-1][2].append(line[2:].strip())
    return releases


def place(layout, sheet: Sheet, spec: ChangeLog, row: int) -> int:
    """Version and digest first, then one row per change."""
    releases = read_changes()
    column = sheet.first_column
    for label, value in (("Version", __version__), ("Released", releases[0][1]), ("Preset digest (SHA-256)", layout.presets.digest)):
        sheet.put(row, column, label, "strong")
        sheet.put(row, column + 1, value, "text_value", "date" if isinstance(value, date) else None)
        row += 1
    row = place_title(sheet, row + 1, spec.title)
    place_headings(sheet, row, column, ("Version", "Date", "What changed"))
    for version, day, sentences in releases:
        for sentence in sentences:
            row += 1
            sheet.put(row, column, version, "label")
            sheet.put(row, column + 1, day, "text_value", "date")
            sheet.put(row, column + 2, sentence, "text")
            sheet.grow(row, sentence, column + 2)
    return row + 2
