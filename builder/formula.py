"""Formulas as templates write them: in names, parsed once, placed many times."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from openpyxl.formula import Tokenizer
from openpyxl.formula.tokenizer import Token, TokenizerError

# Functions that Excel 2010+, Google Sheets, Numbers, LibreOffice, `formulas` and formualizer compute alike; tests/test_engines.py
# holds each of them to the value that Excel documents, in three engines.
SAFE_FUNCTIONS = frozenset("""
    SUM MIN MAX ABS ROUND ROUNDUP ROUNDDOWN CEILING FLOOR INT MOD SQRT POWER IF AND OR NOT ISNUMBER ISBLANK ISTEXT IFERROR NA EXACT
    INDEX MATCH CHOOSE ROWS COUNT COUNTA COUNTIF SUMIF SUMIFS COUNTIFS SUMPRODUCT TEXT LEFT MID RIGHT LEN FIND SUBSTITUTE REPT
""".split())
# Excel 2010 to 365 refuse formulas beyond these.
MAX_LENGTH = 8192
MAX_NESTING = 64

_PRECEDENCE = {"=": 1, "<>": 1, "<": 1, ">": 1, "<=": 1, ">=": 1, "&": 2, "+": 3, "-": 3, "*": 4, "/": 4, "^": 5}


class FormulaSyntaxError(ValueError):
    """A formula that cannot be read; the caller adds file and line."""


@dataclass(frozen=True, slots=True)
class Number:
    text: str


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Logical:
    text: str


@dataclass(frozen=True, slots=True)
class Name:
    text: str


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Operation:
    operator: str
    operands: tuple[Node, ...]


Node = Number | Text | Logical | Name | Call | Operation


@dataclass(frozen=True)
class Formula:
    """One formula: its text as written (without `=`) and its tokens.

    `names` lists the operands that are names; `a:b` counts as the two names it spans. `tree` is parsed on first use.
    """

    text: str
    tokens: tuple[tuple[str, bool], ...]  # (text, is a name)

    @cached_property
    def names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(part for text, is_name in self.tokens if is_name for part in text.split(":")))

    @cached_property
    def ranges(self) -> tuple[tuple[str, str], ...]:
        """First and last name of every range `a:b`."""
        return tuple(tuple(text.split(":")) for text, is_name in self.tokens if is_name and ":" in text)

    @cached_property
    def tree(self) -> Node:
        return _Parser(self.text).parse()

    def place(self, resolve: Callable[[str], str]) -> str:
        """The formula with every name replaced by `resolve(name)`, without the leading `=`."""
        return "".join(":".join(map(resolve, text.split(":"))) if is_name else text for text, is_name in self.tokens)


@lru_cache(maxsize=None)
def read(text: str) -> Formula:
    """Read a formula written in names.

    Raises FormulaSyntaxError for text that Excel's grammar does not accept.
    """
    return Formula(text, tuple((token.value, _is_name(token)) for token in _tokenize(text)))


def walk(node: Node) -> Iterator[Node]:
    """Every node of a tree, the root first."""
    yield node
    for child in getattr(node, "arguments", ()) or getattr(node, "operands", ()):
        yield from walk(child)


def nesting(node: Node, function: str | None = None) -> int:
    """Depth of nested calls, of any function or of one."""
    children = getattr(node, "arguments", ()) or getattr(node, "operands", ())
    own = isinstance(node, Call) and function in (None, node.function)
    return own + max((nesting(child, function) for child in children), default=0)


def _tokenize(text: str) -> list[Token]:
    """openpyxl's tokens without white space; its own errors, of several types, become ours."""
    try:
        tokens = [token for token in Tokenizer("=" + text).items if token.type != Token.WSPACE]
    except (TokenizerError, IndexError) as error:
        raise FormulaSyntaxError(f"cannot read '{text}': {error}") from None
    if not tokens:
        raise FormulaSyntaxError("empty formula")
    return tokens


def _is_name(token: Token) -> bool:
    return token.type == Token.OPERAND and token.subtype == Token.RANGE


class _Parser:
    """Precedence climbing over openpyxl's tokens."""

    def __init__(self, text: str):
        self.text = text
        self.tokens = _tokenize(text)
        self.position = 0

    def parse(self) -> Node:
        node = self._expression(0)
        if self._peek() is not None:
            raise FormulaSyntaxError(f"unexpected '{self._peek().value}' in {self.text}")
        return node

    def _peek(self) -> Token | None:
        return self.tokens[self.position] if self.position < len(self.tokens) else None

    def _next(self) -> Token:
        token = self._peek()
        if token is None:
            raise FormulaSyntaxError(f"unexpected end of {self.text}")
        self.position += 1
        return token

    def _expression(self, floor: int) -> Node:
        node = self._operand()
        while (token := self._peek()) is not None:
            if token.type == Token.OP_POST:
                self._next()
                node = Operation("%", (node,))
            elif token.type == Token.OP_IN and _PRECEDENCE[token.value] > floor:
                self._next()
                node = Operation(token.value, (node, self._expression(_PRECEDENCE[token.value])))
            else:
                break
        return node

    def _operand(self) -> Node:
        token = self._next()
        if token.type == Token.OP_PRE:
            return Operation("negate" if token.value == "-" else "plus", (self._expression(_PRECEDENCE["^"]),))
        if token.type == Token.PAREN and token.subtype == Token.OPEN:
            node = self._expression(0)
            self._close()
            return node
        if token.type == Token.FUNC and token.subtype == Token.OPEN:
            return Call(token.value[:-1].upper(), self._arguments())
        if token.type == Token.OPERAND:
            kind = {Token.NUMBER: Number, Token.TEXT: Text, Token.LOGICAL: Logical, Token.RANGE: Name}.get(token.subtype)
            if kind is not None:
                return kind(token.value)
        raise FormulaSyntaxError(f"unexpected '{token.value}' in {self.text}")

    def _arguments(self) -> tuple[Node, ...]:
        arguments: list[Node] = []
        while (token := self._peek()) is not None and not (token.type == Token.FUNC and token.subtype == Token.CLOSE):
            if token.type == Token.SEP:
                self._next()
            arguments.append(self._expression(0))
        self._close()
        return tuple(arguments)

    def _close(self) -> None:
        if self._next().subtype != Token.CLOSE:
            raise FormulaSyntaxError(f"a bracket is not closed in {self.text}")
