"""The constants that a book uses: it shows these, and every constant is used by some book."""
from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from builder.blocks.strip import VERDICT_STYLES
from builder.blocks.workings import sections
from builder.option_schema import Constant
from builder.template import Templates

WORD = re.compile(r"[a-z][a-z0-9_]*")


def used(presets, templates: Templates) -> dict[str, Constant]:
    """Constants whose name stands in some formula of the book, in their order."""
    words = {word for text in _texts(presets, templates) for word in WORD.findall(text)} | set(VERDICT_STYLES)
    return {name: constant for name, constant in presets.constants.items() if name in words}


def unused(books: Mapping[str, tuple[object, Templates]]) -> list[str]:
    """Constants that no book uses; `books` are presets and templates of each."""
    names = {name for presets, _ in books.values() for name in presets.constants}
    return sorted(names - {name for presets, templates in books.values() for name in used(presets, templates)})


def _texts(presets, templates: Templates) -> Iterator[str]:
    for section in sections(presets, templates):
        yield from (row.text for row in section.rows)
    for sheet in templates.sheets:
        yield str(sheet.model_dump(exclude_none=True))
