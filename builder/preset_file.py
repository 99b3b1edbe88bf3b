"""A new preset file: its text in the layout of the others, its slug, and that it is kept only if every preset still loads with it."""
from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import date
from pathlib import Path

from builder.errors import SizingError, UsageError, place
from builder.presets import Presets, load
from builder.schema import BOOKS

# Values that stand in quotes because they are sentences, whatever they hold.
PROSE = {"basis", "source", "notes"}
# What YAML reads as the same text without quotes.
PLAIN = re.compile(r"[A-Za-z][\w./+()-]*( [\w./+(][\w./+()-]*)*")
WORDS = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"}


def slug(name: str, dropped: Iterable[str] = ()) -> str:
    """The file name of a preset: lower-case letters, digits and dots, everything between them a hyphen; `dropped` words left out."""
    words = [word for word in re.split(r"[^a-z0-9.]+", name.casefold()) if word.strip(".")]
    return "-".join([word for word in words if word not in set(dropped)] or words).strip("-.")


def day(typed: object) -> date:
    """The date typed after --date, today where none is.

    Raises UsageError for what is no date.
    """
    try:
        return date.fromisoformat(str(typed)) if typed is not None else date.today()
    except ValueError:
        raise UsageError(f"--date '{typed}' is not a date; write one as 2026-11-30") from None


def text(data: Mapping[str, object]) -> str:
    """The data as the text of a preset file: one key a line, parts indented by two, lists in brackets."""
    return "".join(f"{line}\n" for line in _lines(data))


def add(root: Path, folder: str, name: str, stem: str, content: str) -> Presets:
    """Write `<root>/<folder>/<stem>.yaml` and load every preset of every book with it; the presets of the first book.

    Raises UsageError for a name or file that is there already, and what loading raises; then no file is left behind.
    """
    if not stem:
        raise UsageError(f"the name '{name}' has no letter or digit for a file name")
    path = root / folder / f"{stem}.yaml"
    for book in BOOKS:
        _refuse_taken(load(root, book), folder, name, path)
    try:
        path.write_text(content, encoding="utf-8")
        return [load(root, book) for book in BOOKS][0]
    except BaseException as error:
        path.unlink(missing_ok=True)
        if isinstance(error, SizingError):
            raise type(error)(f"{error.message}; the file was not kept", error.path, error.line, error.column) from None
        raise


def _refuse_taken(presets: Presets, folder: str, name: str, path: Path) -> None:
    """Names that differ in case only are one: lookups in a spreadsheet ignore case."""
    for preset in getattr(presets, folder):
        if preset.name.casefold() == name.casefold():
            raise UsageError(f"the name '{name}' is taken by {place(path.with_stem(preset.slug))}; choose another name, or change that file")
    if path.exists():
        raise UsageError(f"there is a file {place(path)} already; choose another name, or change that file")


def _lines(data: Mapping[str, object], indent: str = "") -> Iterable[str]:
    for key, value in data.items():
        if isinstance(value, Mapping):
            yield f"{indent}{key}:"
            yield from _lines(value, indent + "  ")
        else:
            yield f"{indent}{key}: {_value(key, value)}"


def _value(key: str, value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (int, float, date)):
        return str(value)
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(_value('', item) for item in value)}]"
    words = " ".join(str(value).split())
    plain = key not in PROSE and PLAIN.fullmatch(words) and words.casefold() not in WORDS
    return words if plain else f"'{words.replace(chr(39), chr(39) * 2)}'"
