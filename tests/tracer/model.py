"""The model of a job: transformers builds it from the preset, PEFT injects the adapters, and no weight has data."""
from __future__ import annotations

from collections.abc import Callable

import bitsandbytes as bnb
import torch
import transformers
from peft import LoraConfig, get_peft_model

from builder.reference.adapters import targeted
from builder.reference.finetune_job import Job
from tests.tracer.layers import fake_weight, quantise

QUANTISED = ("INT8", "NF4", "NF4 double-quantised")
QUANTISED_LAYERS = (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt)


def prepared(job: Job) -> bool:
    """Whether PEFT's k-bit preparation acts on the base."""
    return job.kbit_preparation == "Yes" and job.base_storage in QUANTISED


def module_names(family, projections) -> list[str]:
    """transformers' names of the targeted projections; on a fused one any of its parts means the whole."""
    fused = {part: name for name, parts in family.fused_projections.items() for part in parts}
    named = (family.modules.get(fused.get(projection, projection)) for projection in projections)
    return list(dict.fromkeys(name for name in named if name))


def config_of(model, family, shape=None) -> transformers.PretrainedConfig:
    """transformers' configuration of a model preset, with another shape (fewer layers, say) where one is given.

    Which layers slide follows from their number: the class's own pattern, which must be the preset's.
    """
    shape = shape or model.shape
    make = getattr(transformers, family.architectures[0]).config_class
    optional = {
        "head_dim": shape.head_dim,
        "sliding_window": model.sliding_window,  # also where it is none: some classes have one by default
        "partial_rotary_factor": model.rotary_share if model.rotary_share < 1 else None,
        "attention_bias": model.shape.o_bias,  # of all four; that Qwen2 has one on q, k and v is in its layers
        "mlp_bias": model.shape.mlp_bias,
        "n_inner": shape.feed_forward,
        "ffn_hidden_size": shape.feed_forward,
    }
    known = vars(make()) | {"partial_rotary_factor": None}
    optional = {key: value for key, value in optional.items() if key in known and (value is not None or key == "sliding_window")}
    config = make(
        hidden_size=shape.hidden_size, num_hidden_layers=shape.layers, num_attention_heads=shape.heads, num_key_value_heads=shape.kv_heads,
        intermediate_size=shape.feed_forward, vocab_size=shape.vocabulary, tie_word_embeddings=model.shape.tied_embeddings,
        max_position_embeddings=model.shape.learned_positions or 1 << 20, **{"bos_token_id": 0, "eos_token_id": 0, "pad_token_id": 0} | optional | dict(family.transformers_config),
    )
    if layer_types := getattr(config, "layer_types", None):
        every = model.full_attention_every
        expected = ["full_attention" if every and (layer + 1) % every == 0 else "sliding_attention" for layer in range(shape.layers)]
        assert layer_types == expected, f"{model.name}: transformers has {layer_types}"
    return config


def adapted_model(job: Job, config: transformers.PretrainedConfig) -> torch.nn.Module:
    """The model with its adapters, on the meta device."""
    top, layers = job.adapter_top_layers, config.num_hidden_layers
    placement = {"layers_to_transform": list(range(layers - top, layers))} if top else {}
    projections = [name for name, chosen in targeted(job.lora_targets, job.switched_on).items() if chosen]
    eager = job.attention_kernel == "Eager" or job.family.eager_only
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(
            config, dtype=torch.float32 if job.base_storage == "FP32" else torch.bfloat16, attn_implementation="eager" if eager else "sdpa"
        )
        if job.base_storage in QUANTISED:
            quantise(model, job.base_storage)
        lora = LoraConfig(
            r=job.lora_rank, lora_alpha=2 * job.lora_rank, target_modules=module_names(job.family, projections), bias="none",
            task_type="CAUSAL_LM", lora_dropout=job.lora_dropout, **placement,
        )
        return get_peft_model(model, lora)


def materialise(model: torch.nn.Module, job: Job) -> list[torch.Tensor]:
    """Give every parameter and buffer a fake tensor of its type; the tensors of quantised layers."""
    adapter_type = torch.bfloat16 if job.adapter_dtype == "BF16" else torch.float32
    quantised = [module for module in model.modules() if isinstance(module, QUANTISED_LAYERS)]
    kept = [tensor for module in quantised for tensor in fake_weight(module, job.base_storage)]
    give_storage(
        model,
        lambda parameter: adapter_type if parameter.requires_grad else torch.float32 if prepared(job) else parameter.dtype,
        lambda module, name: isinstance(module, QUANTISED_LAYERS) and name == "weight",
    )
    return kept


def give_storage(
    model: torch.nn.Module,
    dtype_of: Callable[[torch.nn.Parameter], torch.dtype] = lambda parameter: parameter.dtype,
    has_one: Callable[[torch.nn.Module, str], bool] = lambda module, name: False,
) -> None:
    """Give every parameter and buffer a fake tensor, but for those that have one; tied weights stay tied."""
    made = {}
    for module in model.modules():
        for name, parameter in list(module._parameters.items()):
            if parameter is None or has_one(module, name):
                continue
            if parameter not in made:
                made[parameter] = torch.nn.Parameter(torch.empty(parameter.shape, dtype=dtype_of(parameter)), requires_grad=parameter.requires_grad)
            module._parameters[name] = made[parameter]
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)
