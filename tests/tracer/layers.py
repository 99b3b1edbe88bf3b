"""bitsandbytes' quantised layers where transformers would put them, with weights that have no data."""
from __future__ import annotations

import bitsandbytes as bnb
import torch
from bitsandbytes.functional import QuantState
from transformers.pytorch_utils import Conv1D

from tests.tracer.cuda import OUTLIER_THRESHOLD

BLOCK, BLOCKS_PER_SCALE = 64, 256  # NF4: weights per block, blocks per second-level scale


def quantise(model: torch.nn.Module, storage: str) -> None:
    """Replace what transformers' replace_with_bnb_linear would: every Linear (no subclass) and Conv1D but the output head.

    Call with the meta device as default.
    """
    head = model.get_output_embeddings()
    for module in list(model.modules()):
        for name, child in list(module.named_children()):
            if child is head or not (type(child) is torch.nn.Linear or isinstance(child, Conv1D)):
                continue
            has_bias = child.bias is not None
            inputs, outputs = (child.nx, child.nf) if isinstance(child, Conv1D) else (child.in_features, child.out_features)
            if storage == "INT8":
                layer = bnb.nn.Linear8bitLt(inputs, outputs, bias=has_bias, has_fp16_weights=False, threshold=OUTLIER_THRESHOLD)
            else:
                layer = bnb.nn.Linear4bit(inputs, outputs, bias=has_bias, compute_dtype=torch.bfloat16, quant_type="nf4")
            if has_bias:
                layer.bias = torch.nn.Parameter(child.bias.data, requires_grad=False)
            setattr(module, name, layer)
    setattr(model, "is_loaded_in_8bit" if storage == "INT8" else "is_loaded_in_4bit", True)


def fake_weight(layer: torch.nn.Module, storage: str) -> list[torch.Tensor]:
    """Give a quantised layer its weight and scales; the tensors that this takes."""
    outputs, inputs = layer.out_features, layer.in_features
    if storage == "INT8":
        weight = torch.nn.Parameter(torch.empty(outputs, inputs, dtype=torch.int8), requires_grad=False)
        weight.CB, layer.state.CB, layer.state.SCB = None, weight.data, torch.empty(outputs)
        layer._parameters["weight"] = weight
        return [weight, layer.state.SCB]
    blocks = outputs * inputs // BLOCK
    common = {"shape": torch.Size([outputs, inputs]), "code": torch.empty(16), "blocksize": BLOCK, "quant_type": "nf4", "dtype": torch.bfloat16}
    if storage == "NF4 double-quantised":
        second = QuantState(absmax=torch.empty(-(-blocks // BLOCKS_PER_SCALE)), shape=None, code=torch.empty(256), blocksize=BLOCKS_PER_SCALE, dtype=torch.float32)
        state = QuantState(absmax=torch.empty(blocks, dtype=torch.uint8), offset=torch.empty(()), state2=second, **common)
        scales = [state.absmax, second.absmax, state.code, second.code, state.offset]
    else:
        state = QuantState(absmax=torch.empty(blocks), **common)
        scales = [state.absmax, state.code]
    packed = torch.empty(outputs * inputs // 2, 1, dtype=torch.uint8)
    weight = torch.nn.Parameter(packed, requires_grad=False)
    weight.quant_state = state
    layer._parameters["weight"] = weight
    return [packed, *scales]
