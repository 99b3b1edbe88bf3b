"""What runs at every moment of a trace: the module, and where the loss and a layer's backward begin."""
from __future__ import annotations

from collections.abc import Sequence

import torch

from builder.reference.ledger_peak import MOMENTS
from tests.tracer.storages import LiveStorages

FORWARD, LOSS, START, INSIDE, OPTIMIZER = MOMENTS
WRAPPERS = ("base_model", "model", "default")  # parts of a module's name that say nothing of what it is


def layers_of(backbone: torch.nn.Module) -> Sequence[torch.nn.Module]:
    """The layers of a model without its head."""
    return getattr(backbone, "layers", None) or backbone.h


def watch_modules(model: torch.nn.Module, live: LiveStorages) -> None:
    """Keep the name of the module that runs, without the number of its layer."""
    for name, module in model.named_modules():
        short = ".".join("*" if part.isdigit() else part for part in name.split(".") if part not in WRAPPERS)
        module.register_forward_pre_hook(lambda *_, short=short: live.modules.append(short))
        module.register_forward_hook(lambda *_: _leave(live), always_call=True)


def watch_moments(layers: Sequence[torch.nn.Module], live: LiveStorages) -> None:
    """Tell where the loss and a layer's backward begin."""
    for layer in layers:
        layer.register_forward_hook(lambda layer, _, out: _layer_done(live, layer is layers[-1], out))


# Forward hooks without a value: what one gives back would replace the module's output.
def _leave(live: LiveStorages) -> None:
    live.modules.pop()


def _layer_done(live: LiveStorages, last: bool, out: torch.Tensor | tuple) -> None:
    hidden = out[0] if isinstance(out, tuple) else out
    if live.phase != FORWARD:
        return  # run again in backward, under checkpointing
    if hidden.grad_fn is not None:
        hidden.grad_fn.register_prehook(lambda *_: setattr(live, "phase", INSIDE))
    if last:
        live.enter(LOSS)
