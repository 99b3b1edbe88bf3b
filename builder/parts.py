"""Parts of templates that stand in some books only."""
from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from builder.schema import Book, Spec

Item = TypeVar("Item")


class Part(Spec):
    """A part of a template that need not stand in every book of its file."""

    books: list[Book] | None = None  # all books of the file if missing


def parts_of(items: Sequence[Item], book: Book) -> list[Item]:
    """The items that stand in a book, each with those of its own parts that do; what is no part stands in all."""
    return [_of_book(item, book) for item in items if not isinstance(item, Part) or item.books is None or book in item.books]


def _of_book(item: Item, book: Book) -> Item:
    if not isinstance(item, Part):
        return item
    lists = {name: value for name, value in item if isinstance(value, list) and any(isinstance(each, Part) for each in value)}
    return item.model_copy(update={name: parts_of(value, book) for name, value in lists.items()}) if lists else item
