"""Every quantity of the article of a full training job that it covers, from plain numbers, in the order in which the workbook computes them.

    reserved = peak + 1.2 GB, or + 5.2 GB with checkpointing;  total = reserved + 0.6 GB + memory already used

as in the fine-tuning book (`article_total`). The terms are those of the training_article_* modules.

Source: the published training formulas, odog96/gpu-sizing-playbook@b8b0636, 2026-08-20.
"""

from __future__ import annotations

from dataclasses import dataclass

from builder.reference import (
    article_peak,
    article_total,
    article_verdict,
    training_article_activations,
    training_article_gradients,
    training_article_optimizer_states,
    training_article_scope,
    training_article_weight_cache,
    training_article_weights,
)

ITEMS = ("article_weights", "article_gradients", "article_optimizer_states", "article_weight_cache", "article_activations")
"""Line items of the article."""


@dataclass(frozen=True)
class Encoder:
    """What the article looks at in a model: sizes in elements, `layers` a count, `vocabulary` in tokens, `parameters` as used."""

    hidden_size: int
    layers: int
    feed_forward: int
    vocabulary: int
    parameters: int


@dataclass(frozen=True)
class Constants:
    """The constants of the presets that the article's terms take."""

    bytes_fp32: float
    bytes_per_gb: float
    context_gb: float


def lines(
    model: Encoder, tokens: int, compute_precision: str, optimizer_choice: str, checkpointing: bool, bytes_fp32: float
) -> dict[str, float]:
    """The line items in bytes, each with its steps; `tokens` is batch x sequence."""
    autocast = training_article_scope.AUTOCAST[compute_precision]
    return {
        **training_article_weights.quantities(model.parameters, bytes_fp32),
        **training_article_gradients.quantities(model.parameters, bytes_fp32),
        **training_article_optimizer_states.quantities(model.parameters, optimizer_choice),
        **training_article_weight_cache.quantities(model.parameters, autocast),
        **training_article_activations.quantities(
            hidden_size=model.hidden_size,
            layers=model.layers,
            feed_forward=model.feed_forward,
            vocabulary=model.vocabulary,
            tokens=tokens,
            b=training_article_scope.ELEMENT_BYTES[compute_precision],
            autocast=autocast,
            checkpointing=checkpointing,
            bytes_fp32=bytes_fp32,
        ),
    }


def peak(items: dict[str, float], optimizer_choice: str, checkpointing: bool) -> dict[str, float]:
    """The moments and the peak, of the line items that `lines` gives."""
    return article_peak.quantities(
        article_peak.Items(
            standing={name: items[f"{name}_bytes"] for name in ("article_weights", "article_optimizer_states")},
            gradients=items["article_gradients_bytes"],
            cache_name="article_weight_cache",
            cache=items["article_weight_cache_bytes"],
            activations=items["article_activations_bytes"],
            activations_forward=items["article_activations_forward_bytes"],
            optimizer_choice=optimizer_choice,
        ),
        checkpointing,
    )


def quantities(
    model: Encoder,
    *,
    tokens: int,
    compute_precision: str,
    optimizer_choice: str,
    checkpointing: bool,
    capacity_gb: float,
    already_used_gb: float,
    constants: Constants,
) -> dict[str, float | str]:
    """Every quantity and public output of the article, of a job that `training_article_scope.is_covered`."""
    values = lines(model, tokens, compute_precision, optimizer_choice, checkpointing, constants.bytes_fp32)
    values |= peak(values, optimizer_choice, checkpointing)
    values |= article_total.quantities(
        peak_bytes=values["article_peak_allocated_bytes"],
        checkpointing=checkpointing,
        context_gb=constants.context_gb,
        already_used_gb=already_used_gb,
        bytes_per_gb=constants.bytes_per_gb,
    )
    return values | article_verdict.quantities(
        values,
        ITEMS,
        checkpointing=checkpointing,
        overhead_gb=article_total.allocator_overhead_gb(checkpointing),
        context_gb=constants.context_gb,
        capacity_gb=capacity_gb,
        bytes_per_gb=constants.bytes_per_gb,
    )
