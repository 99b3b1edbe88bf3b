"""One prefill chunk, traced: transformers' forward without gradients, with a KV cache and logits of the last token.

Attention is a flash kernel, as a server has one for every family: it takes queries, keys and values as they are and makes an output;
no scores, no repeated keys, no masks of a window. The other operations are transformers' own.
"""
from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass
from unittest.mock import patch

import torch
import transformers
from torch._subclasses.fake_tensor import FakeTensorMode
from transformers.masking_utils import ALL_MASK_ATTENTION_FUNCTIONS
from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS

from tests.tracer.cuda import patches
from tests.tracer.model import config_of, give_storage
from tests.tracer.storages import LiveStorages, Tag
from tests.tracer.watch import layers_of, watch_modules

FLASH = "prefill_flash"
LAYERS, HEAD = "layers", "head"
"""The two moments: embedding and layers, then the final norm and the output head."""


@dataclass(frozen=True)
class Prefill:
    """Bytes; `peaks` of each moment beside weights and KV cache. `tables` lists what was alive at them."""

    weights: int
    cache: int
    peaks: dict[str, int]
    operations: dict[str, Tag]
    tables: dict[str, list[tuple[int, Tag]]]

    @property
    def activations(self) -> int:
        return max(self.peaks.values())


def prefill(model, family, shape, tokens: int) -> Prefill:
    """Trace a chunk of `tokens` tokens of a model preset in BF16, with another shape (fewer layers) where one is given."""
    with ExitStack() as stack:
        for each in (*patches(), *_flash()):
            stack.enter_context(each)
        return _prefill(model, family, shape, tokens)


def _flash() -> list:
    def no_mask(*args, **kwargs) -> None:
        return None

    return [
        patch.dict(ALL_ATTENTION_FUNCTIONS._global_mapping, {FLASH: _attention}),
        patch.dict(ALL_MASK_ATTENTION_FUNCTIONS._global_mapping, {FLASH: no_mask, "sdpa": no_mask}),
        patch.object(torch.nn.functional, "scaled_dot_product_attention", lambda query, *args, **kwargs: torch.empty_like(query)),
    ]


def _attention(module, query, key, value, attention_mask, **kwargs):
    """The output of a flash kernel in the layout that it has: batch, tokens, heads, head_dim."""
    batch, heads, tokens, _ = query.shape
    return torch.empty(batch, tokens, heads, value.shape[-1], dtype=query.dtype), None


def _prefill(preset, family, shape, tokens: int) -> Prefill:
    config = config_of(preset, family, shape)
    with torch.device("meta"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16, attn_implementation="eager")
    model.config._attn_implementation = "sdpa" if family.sdpa_scores else FLASH  # Falcon calls the kernel itself
    live = LiveStorages()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        model.requires_grad_(False)
        give_storage(model)
        model.eval()
        watch_modules(model, live)
        layers_of(model.base_model)[-1].register_forward_hook(lambda *_: live.enter(HEAD))
        for tensor in (*model.parameters(), *model.buffers()):
            live.add(tensor, "weight")
        weights = live.now
        with live:
            live.phase = LAYERS
            ids = torch.randint(0, config.vocab_size, (1, tokens))
            out = model(input_ids=ids, use_cache=True, logits_to_keep=1)
        cache = 2 * config.num_hidden_layers * tokens * shape.kv_width * 2
        assert sum(tensor.untyped_storage().nbytes() for layer in out.past_key_values.layers for tensor in (layer.keys, layer.values)) == cache
        return Prefill(weights, cache, {name: live.peaks[name] - weights - cache for name in (LAYERS, HEAD)}, live.operations, live.tables())
