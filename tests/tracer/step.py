"""One training step of a job, traced: what each moment allocates at its peak."""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from typing import Mapping

import bitsandbytes as bnb
import torch
from torch._subclasses.fake_tensor import FakeTensorMode

from builder.errors import UsageError
from builder.presets import Presets
from builder.reference import inputs
from builder.reference.finetune_job import Job
from tests.tracer.cuda import patches
from tests.tracer.loss import FusedLinearCrossEntropy
from tests.tracer.model import adapted_model, config_of, materialise, prepared
from tests.tracer.storages import LiveStorages, Tag
from tests.tracer.watch import FORWARD, INSIDE, LOSS, OPTIMIZER, START, layers_of, watch_modules, watch_moments

STEPS = 3  # the optimizer makes its states in the first, and the third is like every later one
PHASES = {"forward": (FORWARD, LOSS), "backward": (START, INSIDE), "optimizer": (OPTIMIZER,)}


@dataclass(frozen=True)
class Trace:
    """Bytes of the last step. `tables` lists what was alive at the peak of each moment, `operations` what then ran."""

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

    @property
    def phases(self) -> dict[str, int]:
        """The peak of forward, backward and optimizer."""
        return {phase: max(self.peaks[moment] for moment in moments) for phase, moments in PHASES.items()}


def traced(presets: Presets, typed: Mapping[str, object]) -> Trace:
    """Trace the job that `typed` describes, as the reference reads it; raises UsageError for a wrong input."""
    job = inputs.read(presets, typed)
    if isinstance(job, inputs.Refusal):
        raise UsageError(job.input_message)
    return trace(job)


def trace(job: Job) -> Trace:
    """Trace STEPS steps of a job."""
    with ExitStack() as stack:
        for patch in patches():
            stack.enter_context(patch)
        return _trace(job)


def _trace(job: Job) -> Trace:
    plain = job.training_loop == "Plain loop"
    asked = {"By loop": plain, "Yes": True, "No": False}
    config = config_of(job.model, job.family, job.shape)
    model = adapted_model(job, config)
    config.use_cache = asked[job.keeps_kv_cache] and not job.checkpointing  # transformers turns it off under checkpointing
    live = LiveStorages()
    with FakeTensorMode(allow_non_fake_inputs=True):
        kept = materialise(model, job)
        if prepared(job) and job.checkpointing:
            model.enable_input_require_grads()
        if job.checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
        model.train()
        watch_modules(model, live)
        watch_moments(layers_of(model.get_base_model().base_model), live)
        for tensor in (*model.parameters(), *kept):
            live.add(tensor, "adapter" if tensor.requires_grad else "base")
        trainable = [p for p in model.parameters() if p.requires_grad]
        static, optimizer = live.now, _optimizer(job.optimizer_choice, trainable)
        loss_of = _fused_loss if job.loss_kernel == "Fused or chunked" else _full_loss
        out = None
        with live:
            for _ in range(STEPS):
                live.forget_peaks()
                live.phase = FORWARD
                ids = torch.randint(0, config.vocab_size, (job.batch_size, job.sequence_length))
                labels = ids.clone()
                optimizer.zero_grad(set_to_none=True)
                with torch.autocast("cpu", dtype=torch.bfloat16, enabled=job.compute_precision == "BF16 mixed precision"):
                    out = loss_of(model, ids, labels)
                after_forward = live.now
                live.enter(START)
                out["loss"].backward()
                live.enter(OPTIMIZER)
                optimizer.step()
                if not asked[job.keeps_previous_output]:
                    out = None
    return Trace(sum(p.numel() for p in trainable), static, after_forward, live.peaks, live.allocator.peak_allocated,
                 live.allocator.peak_reserved, live.operations, live.tables())


def _optimizer(choice: str, trainable: list[torch.nn.Parameter]) -> torch.optim.Optimizer:
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
    out = inner.base_model(input_ids=ids)
    shifted = torch.nn.functional.pad(labels, (0, 1), value=-100)[..., 1:].contiguous().view(-1)
    hidden = out.last_hidden_state
    loss = FusedLinearCrossEntropy.apply(hidden.view(-1, hidden.shape[-1]), inner.get_output_embeddings().weight)
    return {"loss": loss / shifted.numel(), "past_key_values": out.get("past_key_values")}
