"""Every quantity of a fine-tuning job under both accountings, in the order in which the workbook computes them."""

from __future__ import annotations

from dataclasses import fields
from typing import Mapping

from builder.presets import Presets
from builder.reference import (
    adapters,
    article_activations,
    article_adapter_weights,
    article_autocast_cache,
    article_frozen_base,
    article_gradients,
    article_matmul_workspace,
    article_optimizer_states,
    article_peak,
    article_scope,
    article_total,
    article_verdict,
    card,
    card_notes,
    input_notes,
    inputs,
    largest,
    ledger,
    ledger_compared,
    ledger_total,
    parameter_count,
    shape,
)
from builder.reference.inputs import Refusal
from builder.reference.finetune_job import Job

ARTICLE_ITEMS = (
    "article_frozen_base", "article_adapter_weights", "article_gradients", "article_optimizer_states", "article_autocast_cache", "article_activations",
    "article_matmul_workspace",
)
"""Line items of the article."""
PUBLIC_OUTPUTS = (
    *ledger_total.OUTPUTS, *largest.OUTPUTS, "gpu_capacity_gb", "trainable_parameters", *article_verdict.outputs(ARTICLE_ITEMS), "input_message"
)
"""Every output that users rely on, in the order in which the command line prints them."""
ESTIMATE_OUTPUTS = tuple(name for name in PUBLIC_OUTPUTS if name not in largest.OUTPUTS)
"""Those that `estimate` gives; the largest batch and sequence take many estimates."""


def estimate(presets: Presets, typed: Mapping[str, object]) -> dict[str, object]:
    """Every quantity by public name, of the job that `typed` describes.

    `typed` maps public input names to what was typed; an absent name has its default and None is blank. A quantity is a
    number or a text; None is unavailable. With an invalid input only the verdict and `input_message` are given. Under a
    choice that the article does not know its public outputs say so and its workings are unavailable.

    Raises UsageError when a name is not an input.
    """
    job = inputs.read(presets, typed)
    if isinstance(job, Refusal):
        return {
            **dict.fromkeys(quantity_names(presets), None),
            **article_verdict.check_inputs(ARTICLE_ITEMS),
            "fit_verdict": article_verdict.CHECK_INPUTS,
            "input_message": job.input_message,
        }
    shared = general(presets, job)
    values = {**shared, **ledger.quantities(job, shared), "input_message": ""}
    if values["article_covered"]:
        values |= article(presets, job, values)
        return {**values, **compared(values)}
    return {**dict.fromkeys(quantity_names(presets), None), **values, **article_verdict.not_covered(ARTICLE_ITEMS)}


def quantity_names(presets: Presets) -> tuple[str, ...]:
    """The names of every quantity, in order: those of the job with every input at its default."""
    job = inputs.read(presets, {})
    values = general(presets, job)
    values |= ledger.quantities(job, values)
    values |= article(presets, job, values)
    return (*values, *compared(values), "input_message")


def compared(values: Mapping[str, float]) -> dict[str, float | str]:
    """Where the two accountings differ."""
    return ledger_compared.quantities(values, ledger_compared.finetune_differences(values), ledger_compared.NAMES)


def general(presets: Presets, job: Job) -> dict[str, float]:
    """The quantities that both accountings share, and whether the article covers the job."""
    preset = shape.Shape(**{field.name: getattr(job.model.shape, field.name) for field in fields(shape.Shape)})
    covered = article_scope.is_covered(
        base_storage=job.base_storage,
        compute_precision=job.compute_precision,
        adapter_dtype=job.adapter_dtype,
        optimizer_choice=job.optimizer_choice,
        attention_kernel=job.attention_kernel,
        loss_kernel=job.loss_kernel,
        family=job.family,
    )
    used = shape.quantities(preset, job.shape, job.model.parameters.value, job.parameters_override, job.model)
    counted = parameter_count.quantities(job.shape, job.model.shape, job.family)
    of_card = card_notes.quantities(job, constant(presets, "bytes_per_gb"))
    texts = {name: constant(presets, name) for name in (*input_notes.TEXTS, *card_notes.TEXTS)}
    of_targets = adapters.targeted(job.lora_targets, job.switched_on)
    return {
        **used,
        **counted,
        "input_notes": input_notes.notes(
            kbit_preparation=job.kbit_preparation,
            base_storage=job.base_storage,
            parameters_differ=used["parameters"] != counted["parameters_from_shape"],
            lora_targets=job.lora_targets,
            switched_on=job.switched_on,
            capacity_estimated=job.card.memory.estimate and job.gpu_capacity_override_gb is None,
            kernel_missing=job.family.eager_only and job.attention_kernel != "Eager",
            beyond_positions=job.sequence_length > (job.model.shape.learned_positions or job.sequence_length),
            experts_dropped=bool(job.family.adapts_experts and job.lora_dropout > 0 and adapters.adapted(of_targets, job.family) & set(adapters.MLP)),
            texts=texts,
        ) + card_notes.notes(job, of_card, texts),
        **of_card,
        **adapters.quantities(
            job.shape, job.lora_targets, job.switched_on, job.lora_rank, job.adapter_top_layers, job.family, job.model.shape.experts
        ),
        **card.quantities(
            job.card.memory.usable_mib, job.gpu_capacity_override_gb, constant(presets, "bytes_per_gb")
        ),
        "tokens_per_step": article_activations.tokens_per_step(job.batch_size, job.sequence_length),
        **article_scope.quantities(covered, job.compute_precision),
    }


def article(presets: Presets, job: Job, values: Mapping[str, float]) -> dict[str, float | str]:
    """The article's quantities of a job that it covers; `values` are those of `general`."""
    parameters, trainable = values["parameters"], values["trainable_parameters"]
    layers, autocast = values["adapter_layers"], values["article_autocast"]
    bytes_fp32, bytes_per_gb = constant(presets, "bytes_fp32"), constant(presets, "bytes_per_gb")
    context_gb = constant(presets, "article_context_gb")

    lines = {
        **article_frozen_base.quantities(parameters, job.base_storage),
        **article_adapter_weights.quantities(trainable, bytes_fp32),
        **article_gradients.quantities(trainable, bytes_fp32),
        **article_optimizer_states.quantities(trainable, job.optimizer_choice),
        **article_autocast_cache.quantities(parameters, trainable, job.base_storage, autocast),
        **article_activations.quantities(
            shape=job.shape,
            layers=layers,
            tokens=values["tokens_per_step"],
            b=values["article_compute_bytes"],
            autocast=autocast,
            dropout=job.lora_dropout,
            checkpointing=job.checkpointing,
            bytes_fp32=bytes_fp32,
        ),
    }
    lines |= article_matmul_workspace.quantities(
        base=constant(presets, "article_workspace_base"),
        per_layer=constant(presets, "article_workspace_per_layer"),
        layers=layers,
        boundary_bytes=lines["article_boundary_bytes"],
        checkpointing=job.checkpointing,
    )
    lines |= article_peak.quantities(
        article_peak.Items(
            standing={name: lines[f"{name}_bytes"] for name in ("article_frozen_base", "article_adapter_weights", "article_optimizer_states")},
            gradients=lines["article_gradients_bytes"],
            cache_name="article_autocast_cache",
            cache=lines["article_autocast_cache_bytes"],
            activations=lines["article_activations_bytes"],
            activations_forward=lines["article_activations_forward_bytes"],
            workspace={"article_matmul_workspace": lines["article_matmul_workspace_bytes"]},
            optimizer_choice=job.optimizer_choice,
        ),
        job.checkpointing,
    )
    lines |= article_total.quantities(
        peak_bytes=lines["article_peak_allocated_bytes"],
        checkpointing=job.checkpointing,
        context_gb=context_gb,
        already_used_gb=job.memory_already_used_gb,
        bytes_per_gb=bytes_per_gb,
    )
    return lines | article_verdict.quantities(
        lines,
        ARTICLE_ITEMS,
        checkpointing=job.checkpointing,
        overhead_gb=article_total.allocator_overhead_gb(job.checkpointing),
        context_gb=context_gb,
        capacity_gb=values["gpu_capacity_gb"],
        bytes_per_gb=bytes_per_gb,
    )


def constant(presets: Presets, name: str) -> float:
    """The value of a constant of the presets."""
    return presets.constants[name].value
