"""How many tokens a step may have until a quantised base needs no less than LoRA on BF16. Units: tokens, bytes.

A step of any number of tokens counts here, not only whole sequences: the ledger is computed for the tokens themselves, with a batch
of several sequences. Both needs are what is reserved without the workspaces.

The number is sought bit by bit, the highest first: a bit is kept where with it the base still needs less. Where the base needs no
less at one token, a bit is kept where it still needs more.

Source: this project's public interface.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Callable

from builder.reference import ledger
from builder.reference.shown import number
from builder.reference.sized import Sized

BITS = 41
"""Of the number that is sought: at most 2^41 - 1 tokens, which stand for any number."""
END = (1 << BITS) - 1

Needs = Callable[[int], tuple[float, float, int]]
"""Tokens -> bytes allocated, bytes reserved, tokens of a chunk of a fused loss."""


def needs_of(sized: Sized) -> Needs:
    """What a job needs with other tokens at its sequence, each computed once."""
    step = ledger.step_of(sized.job, sized.shared)

    @cache
    def needs(tokens: int) -> tuple[float, float, int]:
        found = ledger.of_step(replace(step, tokens=tokens, several=True), sized.job, sized.shared)
        return found["traced_peak_bytes"], found["traced_reserve_bytes"], found["chunk_tokens"]

    return needs


@dataclass(frozen=True)
class Search:
    """`tried` and `found` step by step; `less`: 1 where it needs less at one token, else -1."""

    less: int
    tried: list[int]
    found: list[int]

    @property
    def ends(self) -> bool:
        """Whether there is a break-even."""
        return self.found[-1] < END


def search(lora: Needs, other: Needs) -> Search:
    """The largest number of tokens at which `other` is as at one token: needs less, or needs more."""
    less = 1 if other(1)[1] < lora(1)[1] else -1
    tried, found = [1], [0]
    for bit in reversed(range(BITS)):
        tokens = found[-1] + (1 << bit)
        still = less * (lora(tokens)[1] - other(tokens)[1]) > 0
        tried.append(tokens)
        found.append(tokens if still else found[-1])
    return Search(less, tried, found)


def words(name: str, searched: Search) -> str:
    """The break-even in words."""
    tokens = number(searched.found[-1])
    if not searched.ends:
        return f"{name} {end(searched)} needs less."
    if searched.less == 1:
        return f"{name} needs less up to {tokens} tokens per step, and no less beyond."
    return f"{name} needs no less up to {tokens} tokens per step, and less beyond."


def end(searched: Search) -> str:
    """Where there is no break-even."""
    return "always" if searched.less == 1 else "never"


def quantities(key: str, name: str, lora: Needs, other: Needs) -> dict[str, object]:
    """The break-even of a method, and every step of the search."""
    searched = search(lora, other)
    at_lora, at_other = ([needs(tokens) for tokens in searched.tried] for needs in (lora, other))
    return {
        f"break_even_{key}_found": searched.found[-1],
        f"break_even_{key}_less": searched.less,
        f"break_even_{key}_end": end(searched),
        f"break_even_{key}_tokens": searched.found[-1] if searched.ends else end(searched),
        f"break_even_{key}_note": words(name, searched),
        "crossing_bit": [1 << bit for bit in reversed(range(BITS + 1))],
        f"{key}_tried": searched.tried,
        f"{key}_chunk": [chunk for _, _, chunk in at_other],
        f"{key}_lora_peak": [peak for peak, _, _ in at_lora],
        f"{key}_lora_need": [reserve for _, reserve, _ in at_lora],
        f"{key}_peak": [peak for peak, _, _ in at_other],
        f"{key}_need": [reserve for _, reserve, _ in at_other],
        f"{key}_less": [searched.less] * len(searched.tried),
        f"{key}_found": searched.found,
    }
