"""One training step of a job, traced: what each moment allocates at its peak."""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Mapping

import bitsandbytes as bnb
import torch
import transformers
from peft import LoraConfig, get_peft_model
from torch._subclasses.fake_tensor import FakeTensorMode

from tests.tracer.cuda import patches
from tests.tracer.layers import fake_weight, quantise
from tests.tracer.loss import FusedLinearCrossEntropy
from tests.tracer.storages import LiveStorages, Tag

STEPS = 3  # the optimizer makes its states in the first, and the third is like every later one
QUANTISED = ("INT8", "NF4", "NF4 double-quantised")
PROJECTIONS = {
    "All linear": ("q", "k", "v", "o", "gate", "up", "down"),
    "q, v": ("q", "v"),
    "q, k, v, o": ("q", "k", "v", "o"),
}


@dataclass(frozen=True)
class Trace:
    """Bytes of the last step. `tables` lists what was alive at the peak of each phase (forward, backward, optimizer)."""

    trainable: int
    static: int
    after_forward: int
    peaks: Mapping[str, int]
    peak_allocated: int  # by the replayed allocator, which counts whole blocks
    peak_reserved: int
    operations: Mapping[str, Tag]
    tables: Mapping[str, list[tuple[int, Tag]]]

    @property
    def peak(self) -> int:
        return max(self.peaks.values())


def module_names(family, projections) -> list[str]:
    """transformers' names of the targeted projections; on a fused one any of its parts means the whole."""
    fused = {part: name for name, parts in family.fused_projections.items() for part in parts}
    return list(dict.fromkeys(f"{fused.get(projection, projection)}_proj" for projection in projections))


def config_of(model, family, shape=None) -> transformers.PretrainedConfig:
    """transformers' configuration of a model preset."""
    shape = shape or model.shape
    make = getattr(transformers, family.architectures[0]).config_class
    extra = dict(family.config) | dict(model.config)
    return make(
        hidden_size=shape.hidden_size, num_hidden_layers=shape.layers, num_attention_heads=shape.heads,
        num_key_value_heads=shape.kv_heads, head_dim=shape.head_dim, intermediate_size=shape.feed_forward,
        vocab_size=shape.vocabulary, tie_word_embeddings=model.shape.tied_embeddings, max_position_embeddings=1 << 20,
        bos_token_id=0, eos_token_id=0, pad_token_id=0, **extra,
    )


def trace(config, target_modules: list[str], job: Mapping[str, object]) -> Trace:
    """Trace STEPS steps of the job on the model of `config`. `job` has a value for every public input."""
    with ExitStack() as stack:
        for patch in patches():
            stack.enter_context(patch)
        return _trace(config, target_modules, job)


def _trace(config, target_modules, job) -> Trace:
    storage, checkpointing = job["base_storage"], job["activation_checkpointing"] == "On"
    quantised = storage in QUANTISED
    prepared = quantised and job["kbit_preparation"] == "Yes"
    plain = job["training_loop"] == "Plain loop"
    keeps_cache = {"By loop": plain and not checkpointing, "Yes": True, "No": False}[job["keeps_kv_cache"]]
    keeps_output = {"By loop": plain, "Yes": True, "No": False}[job["keeps_previous_output"]]
    model = _model(config, target_modules, job, storage if quantised else None)
    config.use_cache = keeps_cache and not checkpointing  # transformers turns it off under checkpointing
    live = LiveStorages()
    with FakeTensorMode(allow_non_fake_inputs=True):
        kept = _materialise(model, storage, prepared, torch.bfloat16 if job["adapter_dtype"] == "BF16" else torch.float32)
        if prepared and checkpointing:
            model.enable_input_require_grads()
        if checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
        _watch_modules(model, live)
        for tensor in (*model.parameters(), *kept):
            live.add(tensor, "base" if not tensor.requires_grad else "adapter")
        trainable = [p for p in model.parameters() if p.requires_grad]
        static, optimizer = live.now, _optimizer(job["optimizer_choice"], trainable)
        loss_of = _fused_loss if job["loss_kernel"] == "Fused or chunked" else _full_loss
        out = None
        with live:
            for _ in range(STEPS):
                live.forget_peaks()
                live.phase = "forward"
                ids = torch.randint(0, config.vocab_size, (job["batch_size"], job["sequence_length"]))
                labels = ids.clone()
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=job["compute_precision"] == "BF16 mixed precision"):
                    out = loss_of(model, ids, labels)
                after_forward = live.now
                live.enter("backward")
                out["loss"].backward()
                live.enter("optimizer")
                optimizer.step()
                if not keeps_output:
                    out = None
    return Trace(sum(p.numel() for p in trainable), static, after_forward, live.peaks, live.allocator.peak_allocated, live.allocator.peak_reserved,
                 live.operations, live.tables)


def _model(config, target_modules, job, quantised: str | None):
    top, layers = job["adapter_top_layers"], config.num_hidden_layers
    placement = {"layers_to_transform": list(range(layers - top, layers))} if top else {}
    dtype = torch.float32 if job["base_storage"] == "FP32" else torch.bfloat16
    with torch.device("meta"):
        attention = "eager" if job["attention_kernel"] == "Eager" else "sdpa"
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=attention)
        if quantised:
            quantise(model, quantised)
        lora = LoraConfig(r=job["lora_rank"], lora_alpha=2 * job["lora_rank"], target_modules=target_modules, bias="none",
                          task_type="CAUSAL_LM", lora_dropout=job["lora_dropout"] or 0.0, **placement)
        return get_peft_model(model, lora)


def _materialise(model, storage: str, prepared: bool, adapter_dtype: torch.dtype) -> list[torch.Tensor]:
    """Give every parameter and buffer a fake tensor of its type; the tensors of quantised layers."""
    kept, made = [], {}
    for module in model.modules():
        if isinstance(module, (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt)):
            kept += fake_weight(module, storage)
        for name, parameter in list(module._parameters.items()):
            if parameter is None or (name == "weight" and isinstance(module, (bnb.nn.Linear4bit, bnb.nn.Linear8bitLt))):
                continue
            if id(parameter) not in made:  # tied weights stay tied
                dtype = adapter_dtype if parameter.requires_grad else torch.float32 if prepared else parameter.dtype
                made[id(parameter)] = (parameter, torch.nn.Parameter(torch.empty(parameter.shape, dtype=dtype), requires_grad=parameter.requires_grad))
            module._parameters[name] = made[id(parameter)][1]
        for name, buffer in list(module._buffers.items()):
            if buffer is not None:
                module._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)
    return kept


def _watch_modules(model, live: LiveStorages) -> None:
    """Keep the name of the module that runs, for the tables; the number of a layer is left out."""
    for name, module in model.named_modules():
        short = ".".join("*" if part.isdigit() else part for part in name.split(".") if part not in ("base_model", "model", "default"))
        module.register_forward_pre_hook(lambda *_, short=short: live.modules.append(short))
        module.register_forward_hook(lambda *_: _leave(live), always_call=True)


def _leave(live: LiveStorages) -> None:
    """Without a value: what a forward hook gives back would replace the module's output."""
    live.modules.pop()


def _optimizer(choice: str, trainable):
    if choice == "8-bit Adam":
        return bnb.optim.Adam8bit(trainable, lr=1e-4)
    if choice == "SGD":
        return torch.optim.SGD(trainable, lr=1e-4, foreach=True)
    return torch.optim.Adam(trainable, lr=1e-4, **{"fused" if choice == "Adam fused" else "foreach": True})


def _full_loss(model, ids, labels):
    return model(input_ids=ids, labels=labels)


def _fused_loss(model, ids, labels):
    """The backbone's hidden states into the fused loss; there are no logits to hold on to."""
    inner = model.get_base_model()
    out = inner.model(input_ids=ids)
    shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous().view(-1)
    hidden = out.last_hidden_state
    loss = FusedLinearCrossEntropy.apply(hidden.view(-1, hidden.shape[-1]), inner.lm_head.weight)
    return {"loss": loss / shifted.numel(), "past_key_values": out.get("past_key_values")}
