"""Ledger: bytes per element of each kind of tensor, as a job's choices and its model's family make them.

Autocast runs matrix multiplications and SDPA in BF16, and LayerNorm, softmax and powers in FP32; a quantised layer gives back the type
of its input. Source: AT_FORALL_LOWER_PRECISION_FP and AT_FORALL_FP32 of PyTorch's aten/src/ATen/autocast_mode.h; bitsandbytes 0.50.2;
traces (tests/tracer).
"""

from __future__ import annotations

FP32, BF16, INT8, MASK = 4, 2, 1, 1
"""Bytes of an element; MASK is one of a dropout mask or an attention mask."""


class Types:
    """What a Step adds to its choices: bytes per element, and which of them autocast turns from FP32 to BF16."""

    @property
    def stream(self) -> int:
        """A LayerNorm under autocast gives FP32, a quantised layer the type of its input: the stream is FP32 from the first MLP on."""
        return FP32 if self.autocast and self.family.layer_norm and not self.plain else self.stored

    @property
    def norm_input(self) -> int:
        """What a norm saves of its input: RMSNorm casts it to FP32; LayerNorm takes it as it is, and autocast casts that to FP32."""
        return FP32 if self.autocast or not self.family.layer_norm else self.stream

    @property
    def norm_shares(self) -> bool:
        """Whether the norms that attention and MLP begin with save the stream's own tensor."""
        return self.family.norms_first and self.norm_input == self.stream

    @property
    def normed(self) -> int:
        """Of a norm's output."""
        return self.norm_input if self.family.layer_norm else self.stream

    @property
    def norm_statistics(self) -> int:
        """Per token: a reciprocal root; LayerNorm has a mean as well."""
        return 2 * FP32 if self.family.layer_norm else FP32

    @property
    def stored_casts(self) -> bool:
        """Whether autocast turns FP32 weights to BF16."""
        return self.autocast and self.stored == FP32

    @property
    def normed_casts(self) -> bool:
        """Whether autocast turns a norm's FP32 output to BF16 before a matrix multiplication."""
        return self.autocast and self.normed == FP32

    @property
    def stream_casts(self) -> bool:
        """Whether autocast turns the FP32 stream to BF16 before a matrix multiplication."""
        return self.autocast and self.stream == FP32

    @property
    def branch(self) -> int:
        return BF16 if self.autocast else self.adapter

    @property
    def projection(self) -> int:
        return BF16 if self.plain and self.autocast else self.normed

    @property
    def product(self) -> int:
        """Of the MLP product: a GELU made of several operations has a power, which autocast runs in FP32."""
        return FP32 if self.autocast and self.family.gelu_steps else self.projection

    @property
    def rotated(self) -> int:
        """Of queries and keys as attention gets them: the rotary tables have the type of the stream, or queries and keys go back to theirs."""
        return self.stream if self.family.rotary_tables and not self.family.rotates_in_fp32 else self.projection

    @property
    def rotated_casts(self) -> bool:
        """Whether autocast turns FP32 queries and keys to BF16 for attention."""
        return self.autocast and self.rotated == FP32

    @property
    def softmax(self) -> int:
        """In which eager attention computes its softmax."""
        return FP32 if self.autocast or self.family.softmax_fp32 or self.core == FP32 else self.projection

    @property
    def attention(self) -> int:
        return BF16 if self.autocast else self.projection

    @property
    def core(self) -> int:
        """Of queries, keys and values as multiplied: SDPA's fallback takes them to FP32."""
        return FP32 if self.falls_back else self.attention

    @property
    def logit(self) -> int:
        return BF16 if self.autocast else self.stream

    @property
    def values_cast(self) -> bool:
        """Whether autocast turns FP32 values to BF16 for attention: those of a quantised layer on an FP32 stream."""
        return self.stream_casts and not self.plain

    @property
    def mask_bytes(self) -> int:
        """Bytes per element of a dropout mask, 0 without dropout."""
        return MASK if self.dropout else 0


def quantities(step: Types) -> dict[str, int]:
    """The element sizes that the workbook names, and the casts."""
    return {
        "stored_bytes": step.stored,
        "stored_casts": int(step.stored_casts),
        "stream_is_fp32": int(step.stream == FP32),
        "stream_bytes": step.stream,
        "norm_input_bytes": step.norm_input,
        "norm_shares": int(step.norm_shares),
        "normed_bytes": step.normed,
        "normed_is_fp32": int(step.normed == FP32),
        "stored_is_fp32": int(step.stored == FP32),
        "adapter_bytes": step.adapter,
        "branch_bytes": step.branch,
        "projection_bytes": step.projection,
        "product_element_bytes": step.product,
        "rotated_bytes": step.rotated,
        "softmax_bytes": step.softmax,
        "attention_bytes": step.attention,
        "core_bytes": step.core,
        "logit_bytes": step.logit,
        "values_cast": int(step.values_cast),
        "drop_mask_bytes": step.mask_bytes,
    }
