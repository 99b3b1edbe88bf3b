"""KV cache of the stated load, in blocks. Units: bytes, blocks, tokens.

    token of a layer   2 x KV heads x (head_dim x bytes of an element + bytes of a head's scale)
    block              so many tokens of every layer; a sequence takes whole blocks
    groups             where some layers slide and some do not, both are paged in groups of the smaller number, or of the larger where that is
                       less than 1.5 times as many; the last one is filled up
    sliding layers     hold a window's blocks of a sequence and the one that is being filled, and of the chunk that is being read all

    load = full layers' blocks x sequences
         + sliding layers' blocks, the smaller of sequences x blocks and sequences x window blocks + chunk blocks

Source: vLLM PagedAttention, v1/kv_cache_interface (a window and a chunk, and one block more) and v1/core/kv_cache_utils (groups; its log of
Gemma 3 1B: 4 full and 22 sliding layers in 7 groups of 4); config.json of the models (which layers slide). INT8 as vLLM's
int8_per_token_head, which has an FP32 scale per token and head.
"""

from __future__ import annotations

from math import ceil

from builder.reference.inference_job import InferenceJob

ELEMENT = {"BF16": 2, "FP8": 1, "INT8": 1}
HEAD_SCALE = {"BF16": 0, "FP8": 0, "INT8": 4}


def layer_token_bytes(job: InferenceJob) -> float:
    """Key and value of one token in one layer."""
    storage, shape = job.kv_cache_storage, job.shape
    return 2 * shape.kv_heads * (shape.head_dim * ELEMENT[storage] + HEAD_SCALE[storage])


def full_layers(job: InferenceJob) -> int:
    """Layers that hold every token: all where nothing slides."""
    every, layers = job.model.full_attention_every, job.shape.layers
    if not job.model.sliding_window:
        return layers
    return layers // every if every else 0


def blocks(tokens: int, block: int) -> int:
    return ceil(tokens / block)


def window_blocks(job: InferenceJob) -> int:
    """Blocks of a sequence that a sliding layer holds: the window before a token, and the block that it stands in."""
    return blocks(job.model.sliding_window - 1, job.kv_block_tokens) + 1 if job.model.sliding_window else 0


def paged_layers(job: InferenceJob) -> tuple[int, int]:
    """Full and sliding layers that a block has places for, those that only fill up a group included."""
    full = full_layers(job)
    sliding = job.shape.layers - full
    fewer, more = min(full, sliding), max(full, sliding)
    group = fewer if fewer and more >= 1.5 * fewer else more
    return ceil(full / group) * group, ceil(sliding / group) * group


def full_block_bytes(job: InferenceJob) -> float:
    return paged_layers(job)[0] * job.kv_block_tokens * layer_token_bytes(job)


def sliding_block_bytes(job: InferenceJob) -> float:
    return paged_layers(job)[1] * job.kv_block_tokens * layer_token_bytes(job)


def load_bytes(job: InferenceJob, sequences: int, tokens: int) -> float:
    """Of so many sequences with so many tokens each."""
    each = blocks(tokens, job.kv_block_tokens)
    chunk = blocks(job.prefill_chunk_tokens, job.kv_block_tokens)
    in_sliding = min(sequences * each, sequences * window_blocks(job) + chunk)
    return full_block_bytes(job) * sequences * each + sliding_block_bytes(job) * in_sliding


def quantities(job: InferenceJob) -> dict[str, float]:
    """`kv_cache_bytes` of the load, `kv_bytes_per_token`, and the blocks."""
    return {
        "full_layers": full_layers(job),
        "sliding_layers": job.shape.layers - full_layers(job),
        "full_paged_layers": paged_layers(job)[0],
        "sliding_paged_layers": paged_layers(job)[1],
        "layer_token_bytes": layer_token_bytes(job),
        "kv_bytes_per_token": job.shape.layers * layer_token_bytes(job),
        "tokens_per_sequence": job.context_tokens,
        "sequence_blocks": blocks(job.context_tokens, job.kv_block_tokens),
        "window_blocks": window_blocks(job),
        "chunk_blocks": blocks(job.prefill_chunk_tokens, job.kv_block_tokens),
        "full_block_bytes": full_block_bytes(job),
        "sliding_block_bytes": sliding_block_bytes(job),
        "one_sequence_bytes": load_bytes(job, 1, job.context_tokens),
        "kv_cache_bytes": load_bytes(job, job.concurrent_sequences, job.context_tokens),
    }
