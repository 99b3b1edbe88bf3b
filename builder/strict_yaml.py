"""YAML with one reading: what could be taken for something else is refused, and every value keeps its place in the file.

Keys are always text. An unquoted value is true or false, null, a whole or a decimal number, a date such as 2026-11-30, or
else text; a quoted one is text. Refused: duplicate keys, other spellings of booleans and null (On, yes, ~), numbers that
YAML versions read differently (1e9, 007, 0x10, 1_000, 12:30, .5), inf and nan, tabs, anchors, aliases, merge keys, tags, a
second document, an empty one, and bytes that are not UTF-8.
"""
from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, NoReturn

import yaml

from builder.errors import SizingError, TemplateError, place

# The loader with libyaml's parser where PyYAML has it. Only its events are used: no value is resolved by YAML's own rules.
_Loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)

KeyPath = tuple[str | int, ...]

_WHOLE = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(0|[1-9][0-9]*)\.[0-9]+")
_DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_WORDS = {"": None, "null": None, "true": True, "false": False}
_REFUSED = tuple((re.compile(pattern), why) for pattern, why in (
    (r"(?i:y|n|yes|no|on|off|true|false)", "is a boolean to some readers of YAML; write true or false, or quote it if it is text"),
    (r"~|(?i:null)", "is another way to write null; write null, or quote it if it is text"),
    (r"[-+]?[0-9.]+[eE][-+]?[0-9]+", "has an exponent, which some readers of YAML take for text; write the number out, or quote it if it is text"),
    (r"[-+]?\.?(?i:inf|infinity|nan)", "is not a finite number; quote it if it is text"),
    (r"[-+]?0[0-9_]+(\.[0-9]*)?|[-+]?0[xXoObB][0-9a-fA-F_]+", "is not decimal to some readers of YAML; write it without leading zeros, or quote it if it is text"),
    (r"[-+]?[0-9]+(:[0-9]{1,2})+(\.[0-9]*)?", "is a number of base 60 to some readers of YAML; quote it if it is text"),
    (r"[-+]?[0-9]+(_[0-9_]*)+(\.[0-9_]*)?", "has underscores among its digits; write the digits alone, or quote it if it is text"),
    (r"[-+]?(\.[0-9]+|[0-9]+\.)", "lacks a digit before or after its point; write 0.5 or 5.0"),
    (r"[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ].*)?", "is not a date; write one as 2026-11-30, or quote it if it is text"),
))


@dataclass(frozen=True)
class Document:
    """A file's data, and where each key and list item stands: `marks` maps its path to (line, column), 1-based."""

    path: Path
    data: Any
    marks: dict[KeyPath, tuple[int, int]]
    error: type[SizingError]

    def known(self, keys: KeyPath) -> KeyPath:
        """The parts of `keys` that the file has; others, such as a missing key, are passed over."""
        known: KeyPath = ()
        for part in keys:
            if (*known, part) in self.marks:
                known = (*known, part)
        return known

    def mark(self, keys: KeyPath = ()) -> tuple[int, int]:
        """Line and column of what `keys` leads to, as far as the file has it."""
        return self.marks[self.known(keys)]

    def where(self, keys: KeyPath = ()) -> str:
        """`file:line:column` of what `keys` leads to."""
        return place(self.path, *self.mark(keys))

    def problem(self, keys: KeyPath, message: str) -> SizingError:
        """The error that says `message` about what `keys` leads to."""
        return self.error(message, self.path, *self.mark(keys))


def load(path: Path, error: type[SizingError] = TemplateError) -> Document:
    """Read a file.

    Raises `error`, with file, line and column, where the file is not of the strict kind that the module describes.
    """
    reader = _Reader(path, error)
    return Document(path, reader.read(), reader.marks, error)


class _Reader:
    """Builds plain data from the parser's events, noting where each key and item stands."""

    def __init__(self, path: Path, error: type[SizingError]):
        self.path = path
        self.error = error
        self.marks: dict[KeyPath, tuple[int, int]] = {(): (1, 1)}

    def read(self) -> Any:
        text = self._text()
        try:
            return self._document(_Loader(text))
        except yaml.reader.ReaderError as error:
            self._refuse(*_end_of(text[: error.position]), "a control character; YAML holds printable text only")
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            self._refuse(mark.line + 1, mark.column + 1, error.problem or error.context)

    def _text(self) -> str:
        try:
            raw = self.path.read_bytes()
        except OSError as error:
            raise self.error(f"cannot be read: {error.strerror}", self.path) from None
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8")
            self._refuse(*_end_of(before), f"the byte 0x{raw[error.start]:02x} is not UTF-8; save the file as UTF-8")
        if "\t" in text:
            self._refuse(*_end_of(text[: text.index("\t")]), "a tab; indent and separate with spaces")
        return text

    def _document(self, loader) -> Any:
        self.next_event = loader.get_event
        self.next_event()  # start of the stream
        if isinstance(self.next_event(), yaml.StreamEndEvent):
            self._refuse(1, 1, "the file is empty")
        data = self._value(self.next_event(), ())
        if data is None:
            self._refuse(1, 1, "the file is empty")
        self.next_event()  # end of the document
        after = self.next_event()
        if not isinstance(after, yaml.StreamEndEvent):
            self._refuse_at(after, "a second document; a file holds one")
        return data

    def _value(self, event, keys: KeyPath) -> Any:
        if isinstance(event, yaml.AliasEvent):
            self._refuse_at(event, f"the alias *{event.anchor}; write the value out")
        if event.anchor is not None:
            self._refuse_at(event, f"the anchor &{event.anchor}; write the value out where it is used")
        if event.tag is not None:
            self._refuse_at(event, f"the tag {event.tag}; write the value without a tag")
        if isinstance(event, yaml.MappingStartEvent):
            return self._mapping(keys)
        if isinstance(event, yaml.SequenceStartEvent):
            return self._sequence(keys)
        return event.value if event.style else self._plain(event)

    def _mapping(self, keys: KeyPath) -> dict[str, Any]:
        found: dict[str, Any] = {}
        while not isinstance(event := self.next_event(), yaml.MappingEndEvent):
            if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
                self._refuse_at(event, "a key that is not plain text")
            key = event.value
            if key == "<<":
                self._refuse_at(event, "the merge key <<; write the values out")
            if key in found:
                self._refuse_at(event, f"the key '{key}' a second time; it stands at line {self.marks[(*keys, key)][0]} already")
            self.marks[(*keys, key)] = (event.start_mark.line + 1, event.start_mark.column + 1)
            found[key] = self._value(self.next_event(), (*keys, key))
        return found

    def _sequence(self, keys: KeyPath) -> list[Any]:
        found: list[Any] = []
        while not isinstance(event := self.next_event(), yaml.SequenceEndEvent):
            item = (*keys, len(found))
            self.marks[item] = (event.start_mark.line + 1, event.start_mark.column + 1)
            found.append(self._value(event, item))
        return found

    def _plain(self, event) -> Any:
        text = event.value
        if text in _WORDS:
            return _WORDS[text]
        if _WHOLE.fullmatch(text):
            return int(text)
        if _DECIMAL.fullmatch(text):
            return float(text)
        if _DATE.fullmatch(text):
            try:
                return date.fromisoformat(text)
            except ValueError as error:
                self._refuse_at(event, f"{text} is not a date of the calendar: {error}")
        for pattern, why in _REFUSED:
            if pattern.fullmatch(text):
                self._refuse_at(event, f"{text} {why}")
        return text

    def _refuse_at(self, event, message: str) -> NoReturn:
        self._refuse(event.start_mark.line + 1, event.start_mark.column + 1, message)

    def _refuse(self, line: int, column: int, message: str) -> NoReturn:
        raise self.error(message, self.path, line, column)


def _end_of(text: str) -> tuple[int, int]:
    """1-based line and column of what follows `text`."""
    return text.count("\n") + 1, len(text) - text.rfind("\n")
