"""One training step in which every weight trains, traced: what each moment allocates at its peak."""
from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from unittest.mock import patch

import bitsandbytes as bnb
import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode

from builder.reference.training_job import TrainingJob
from tests.tracer.cuda import patches
from tests.tracer.encoder import Encoder
from tests.tracer.model import config_of, give_storage
from tests.tracer.step import STEPS, Trace
from tests.tracer.storages import LiveStorages
from tests.tracer.watch import FORWARD, OPTIMIZER, START, layers_of, watch_modules, watch_moments

RATE = 1e-4
OPTIMIZERS: dict[str, Callable] = {
    "Adam": lambda weights: torch.optim.Adam(weights, lr=RATE, foreach=True),
    "Adam fused": lambda weights: torch.optim.Adam(weights, lr=RATE, fused=True),
    "8-bit Adam": lambda weights: bnb.optim.Adam8bit(weights, lr=RATE),
    "SGD": lambda weights: torch.optim.SGD(weights, lr=RATE, foreach=True),
    "SGD momentum": lambda weights: torch.optim.SGD(weights, lr=RATE, momentum=0.9, foreach=True),
    "Adafactor": lambda weights: torch.optim.Adafactor(weights, lr=RATE),
}
MICRO_STEPS = 2  # of accumulation: the second finds gradients of the first, and so does every later one


def trace(job: TrainingJob, live: LiveStorages | None = None) -> Trace:
    """Trace STEPS steps of a job."""
    with ExitStack() as stack:
        for one in patches():
            stack.enter_context(one)
        # Adafactor reads norms and step counts, which here have no data.
        stack.enter_context(patch.object(torch.Tensor, "item", lambda tensor: 1.0))
        return _trace(job, live or LiveStorages())


def dropout_of(job: TrainingJob) -> float:
    """The rate of a job: its own, or the model's."""
    return job.family.model_dropout if job.dropout_rate is None else job.dropout_rate


def _trace(job: TrainingJob, live: LiveStorages) -> Trace:
    plain = job.training_loop == "Plain loop"
    asked = {"By loop": plain, "Yes": True, "No": False}
    model, step = _model(job, asked[job.keeps_kv_cache])
    accumulates = job.gradient_accumulation_steps > 1
    with FakeTensorMode(allow_non_fake_inputs=True):
        give_storage(model)
        model.train()
        watch_modules(model, live)
        watch_moments(layers_of(model if isinstance(model, Encoder) else model.base_model), live)
        for tensor in (*model.parameters(), *model.buffers()):
            live.add(tensor, "weight")
        weights = list(model.parameters())
        static, optimizer, out = live.now, OPTIMIZERS[job.optimizer_choice](weights), None
        with live:
            for _ in range(STEPS):
                live.forget_peaks()
                for micro in range(MICRO_STEPS if accumulates else 1):
                    live.phase = FORWARD
                    ids = torch.randint(0, job.shape.vocabulary, (job.batch_size, job.sequence_length))
                    labels = torch.randint(0, job.shape.vocabulary, (job.batch_size, job.sequence_length))
                    if micro == 0:
                        optimizer.zero_grad(set_to_none=True)
                    with torch.autocast("cpu", dtype=torch.bfloat16, enabled=job.compute_precision == "BF16 mixed precision"):
                        out = step(ids, labels, out)
                    after_forward = live.now
                    live.enter(START)
                    out["loss"].backward()
                    if accumulates and micro == 0 and not asked[job.keeps_previous_output]:
                        out = None
                live.enter(OPTIMIZER)
                optimizer.step()
                if not asked[job.keeps_previous_output]:
                    out = None
    return Trace(sum(weight.numel() for weight in weights), static, after_forward, live.peaks, live.allocator.peak_allocated,
                 live.allocator.peak_reserved, live.operations, live.tables())


def _model(job: TrainingJob, keeps_cache: bool) -> tuple[torch.nn.Module, Callable]:
    """The model on the meta device, and what runs it forward to its output with the loss."""
    dtype = torch.float32 if job.storage_precision == "FP32" else torch.bfloat16
    if job.family.sinusoidal_positions:
        with torch.device("meta"):
            model = Encoder(job.shape, job.sequence_length, dropout_of(job), job.checkpointing)
        model.to(dtype)  # the positions as well, as a pure BF16 run needs
        entropy = torch.nn.CrossEntropyLoss()

        def step(ids, labels, last):
            logits = model(ids)
            if last is not None:
                last.clear()  # the loop's names are bound anew: the last logits go once the new ones are there
            return {"logits": logits, "loss": entropy(logits.view(-1, job.shape.vocabulary), labels.view(-1))}

        return model, step
    config = config_of(job.model, job.family, job.shape)
    if hasattr(config, "attention_dropout"):
        config.attention_dropout = dropout_of(job)
    with torch.device("meta"):
        kernel = "eager" if job.attention_kernel == "Eager" else "sdpa"
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype, attn_implementation=kernel)
    config.use_cache = keeps_cache and not job.checkpointing
    if job.checkpointing:
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    return model, lambda ids, labels, _: model(input_ids=ids, labels=labels)
