"""Ledger: the copies that PEFT, dropout and autocast make of the input of an adapter, bytes per element.

    input -> PEFT casts it to the adapter's type (a plain layer, or no autocast) -> dropout -> autocast casts it to BF16 -> lora_A

Backward needs what lora_A multiplied. Where nothing copied it, that is the input itself, which several adapters share.
Source: PEFT 0.21.2, forward of lora.Linear, Linear4bit and Linear8bitLt; torch.autocast.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference.ledger_choices import Step
from builder.reference.ledger_types import BF16


@dataclass(frozen=True)
class Copies:
    """Bytes per input element of each copy, 0 where it is not made; `given` is the input itself, `type` what dropout gets."""

    given: int
    cast: int
    dropped: int
    recast: int

    @property
    def type(self) -> int:
        return self.cast or self.given

    @property
    def multiplied(self) -> int:
        """Element of what lora_A multiplies."""
        return self.recast or self.type

    @property
    def kept(self) -> int:
        """The copy of dropout or autocast that backward needs."""
        return self.recast or self.dropped

    @property
    def own(self) -> int:
        """The copy that the adapter saves, 0 where it saves the shared input."""
        return self.kept or self.cast

    @property
    def direct(self) -> bool:
        return self.own == 0

    @property
    def made(self) -> int:
        """All copies together."""
        return self.cast + self.dropped + self.recast


def copies(step: Step, given: int) -> Copies:
    """The copies of an input whose element has `given` bytes."""
    casts = (step.plain or not step.autocast) and given != step.adapter
    cast = step.adapter if casts else 0
    kind = cast or given
    return Copies(given, cast, kind if step.dropout else 0, BF16 if step.autocast and kind > BF16 else 0)


def kinds(step: Step) -> dict[str, Copies]:
    """Of the three inputs: a norm's output (`stream`), attention's (`context`), the MLP product (`product`)."""
    return {
        "stream": copies(step, step.normed),
        "context": copies(step, step.attention),
        "product": copies(step, step.product),
    }


def quantities(step: Step) -> dict[str, int]:
    """`<input>_own`, `_cast`, `_kept`, `_recast`, `_direct` of each input."""
    return {
        f"{name}_{what}": int(getattr(made, what))
        for name, made in kinds(step).items()
        for what in ("cast", "type", "dropped", "recast", "kept", "own", "direct")
    }
