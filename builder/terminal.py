"""What several commands share: books and inputs named on the command line, and progress on a terminal."""
from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from rich.console import Console

from builder.errors import UsageError, nearest
from builder.presets import Presets

# What a spreadsheet would read as a number.
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")


def books_named(books: Collection[str]) -> list[str]:
    """The books asked for, or all of them.

    Raises UsageError for a name that no book has.
    """
    from builder.book import book_names

    known = book_names()
    for book in books:
        if book not in known:
            raise UsageError(f"no book '{book}'" + (nearest(book, known) or f"; expected one of {', '.join(known)}"))
    return list(books) or known


def typed(presets: Presets, settings: Iterable[str]) -> dict[str, object]:
    """Inputs by name from `name=value` texts: a number where it reads as one and the input takes one, else text; None for nothing.

    Raises UsageError for a text without `=` and for a name that is no input.
    """
    return dict(_setting(presets, item) for item in settings)


def _setting(presets: Presets, item: str) -> tuple[str, object]:
    name, equals, text = item.partition("=")
    names = {spec.name: spec for spec in presets.inputs}
    if not equals:
        raise UsageError(f"--set {item}: expected NAME=VALUE")
    if name not in names:
        raise UsageError(f"--set {item}: no input '{name}'{nearest(name, names)}")
    if text == "":
        return name, None
    if names[name].kind in ("whole", "number") and NUMBER.fullmatch(text):
        return name, int(text) if text.lstrip("+-").isdigit() and len(text) < 20 else float(text)
    return name, text


def progress(text: str):
    """A spinner on a terminal's stderr; nothing where output is piped."""
    return Console(stderr=True).status(text)
