"""Numbers as a cell shows them inside a text: rounded half up, as spreadsheets round, with commas between thousands."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

NONE, BLANK = "none", ""
"""Where a text names nothing, and where a cell has nothing to say."""


def rounded(value: float, digits: int) -> Decimal:
    """The decimal number nearest to what the float prints as."""
    return Decimal(repr(value)).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def number(value: float, digits: int = 0) -> str:
    """`#,##0` with so many decimals."""
    return f"{rounded(value, digits):,f}"


def percent(share: float) -> str:
    """`0%`."""
    return f"{rounded(share * 100, 0):f}%"
