"""Where a trace on the CPU must be told to act as CUDA does, in one place.

Autocast of CUDA runs layer_norm, pow and softmax in FP32, that of the CPU does not: the lists AT_FORALL_FP32 and
AT_FORALL_FP32_SET_OPT_DTYPE of PyTorch's aten/src/ATen/autocast_mode.h. CUDA's flash and efficient attention keep a seed and an
offset for their dropout, the CPU has no such kernel and would fall back to scores.
"""
from __future__ import annotations

import warnings
from unittest.mock import patch

import bitsandbytes as bnb
import torch
import transformers
import transformers.masking_utils

transformers.logging.set_verbosity_error()
warnings.filterwarnings("ignore", category=FutureWarning)
warnings.filterwarnings("ignore", message="fan_in_fan_out is set")  # PEFT sets it right where a layer is Conv1D

# bitsandbytes' outlier threshold in transformers (BitsAndBytesConfig.llm_int8_threshold).
OUTLIER_THRESHOLD = 6.0
_autocast_enabled = torch.is_autocast_enabled
_layer_norm, _pow, _softmax = torch.nn.functional.layer_norm, torch.pow, torch.nn.functional.softmax
_attention = torch.nn.functional.scaled_dot_product_attention


def _dropout(x, p=0.5, training=True, inplace=False):
    """nn.Dropout is one fused kernel that keeps a mask of 1 byte an element."""
    return torch.native_dropout(x, p, True)[0] if training and p > 0 else x


def _in_fp32(operation):
    """An operation as CUDA's autocast runs it: every tensor that it gets is cast to FP32."""

    def cast(*args, **kwargs):
        if not _autocast_enabled("cpu"):
            return operation(*args, **kwargs)
        with torch.autocast("cpu", enabled=False):
            return operation(*map(_fp32, args), **{name: _fp32(value) for name, value in kwargs.items()})

    return cast


def _fp32(value):
    return value.float() if isinstance(value, torch.Tensor) else value


def _softmax_in_fp32(x, dim=None, _stacklevel=3, dtype=None):
    """A type that the caller asks for stands; without one autocast's is FP32."""
    return _softmax(x, dim=dim, dtype=dtype or (torch.float32 if _autocast_enabled("cpu") else None))


def _attention_without_dropout(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, **kwargs):
    """PyTorch's own attention module gives the rate of its dropout by position."""
    return _attention(query, key, value, attn_mask=attn_mask, is_causal=is_causal, **kwargs)


def _int8_quantised(rows, threshold=0.0):
    """LLM.int8 of a batch without outliers: int8 rows and their scales; the comparison with the threshold is a block as well."""
    if threshold > 0:
        outliers = rows.abs() >= threshold
        del outliers
    return torch.empty(rows.shape, dtype=torch.int8), torch.empty(rows.shape[0]), torch.empty(0, dtype=torch.int64)


def _int8_product(rows, quantised, weight, row_scales, weight_scales, outlier_columns=None, bias=None):
    """int32 product, dequantised to FP16, then to the type of the input; the part of the outliers is empty."""
    product = torch.ops.bitsandbytes.int8_linear_matmul.default(quantised, weight)
    half = torch.empty(product.shape, dtype=torch.float16)
    if bias is not None:
        half.add_(bias)
    return half.to(rows.dtype), torch.empty(0, dtype=rows.dtype)


def _int8_matmul(rows, weight, out=None, state=None, threshold=0.0, bias=None):
    return bnb.autograd._functions.MatMul8bitLt.apply(rows, weight, out, bias, state)


class _Instead:
    """An object with some attributes replaced."""

    def __init__(self, original, **replaced):
        self._original = original
        self.__dict__.update(replaced)

    def __getattr__(self, name):
        return getattr(self._original, name)


def _torch_with_int8():
    """torch with the one operation replaced whose result has no shape without data."""
    return _Instead(torch, ops=_Instead(torch.ops, bitsandbytes=_Instead(torch.ops.bitsandbytes, int8_mixed_scaled_mm=_int8_product)))


def patches() -> list:
    """Context managers that are active while a step is traced."""
    functions = bnb.autograd._functions
    blank = [patch.object(torch.nn.init, name, lambda *a, **k: a[0] if a else k.get("tensor")) for name in dir(torch.nn.init) if name.endswith("_") and name[0] != "_"]
    return [
        patch.object(torch.nn.functional, "dropout", _dropout),
        patch.object(torch.nn.functional, "layer_norm", _in_fp32(_layer_norm)),
        patch.object(torch.nn.functional, "softmax", _softmax_in_fp32),
        patch.object(torch.nn.functional, "scaled_dot_product_attention", _attention_without_dropout),
        patch.object(torch, "pow", _in_fp32(_pow)),
        # PEFT's quantised layers ask whether autocast of CUDA is on; here it is the CPU's.
        patch.object(torch, "is_autocast_enabled", lambda device=None: _autocast_enabled("cpu" if device in (None, "cuda") else device)),
        # A batch that is neither packed nor padded takes the causal path without a mask.
        patch.object(transformers.masking_utils, "find_packed_sequence_indices", lambda *a, **k: None),
        patch.object(functions.F, "int8_vectorwise_quant", _int8_quantised),
        patch.object(functions, "torch", _torch_with_int8()),
        patch.object(bnb, "matmul", _int8_matmul),
        # The tables of 8-bit Adam: 256 values, which would need data.
        patch.object(bnb.functional, "create_dynamic_map", lambda *a, **k: torch.empty(256)),
        patch.object(functions.logger, "warning", lambda *a, **k: None),
        *blank,  # fake parameters need no values
    ]
