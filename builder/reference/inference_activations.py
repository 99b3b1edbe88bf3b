"""Activations of one pass over a chunk, without gradients: the largest point of a layer. Units: bytes.

Every point is so many bytes per token of the pass and so many whatever the tokens. Beside all of them stand the embedding's output, the
layer's input (from the second layer on another tensor), the rotary tables, token ids and positions.

    norm          its work: RMSNorm two FP32 tensors of the hidden width, and a cast where it comes last; LayerNorm its output
    norm of q     queries and the work of a norm over their width
    rotation      queries, three more of their width, keys, values
    up            hidden states, gate's output after the activation, up's output; NF4: up's weight in 16 bits
    product       outputs of gate or activation, of up, and their product; without a gate up's output and its activation
    down          the product and the output of down; NF4: down's weight in 16 bits
    post norm     hidden states, the output of attention or MLP, the work of a norm
    experts       per token the experts it takes: the wider of both their inner outputs and the hidden width, and the product

Attention is a flash kernel, which holds no scores. Source: traces without gradients of transformers 5.24.0 (tests/tracer/prefill.py),
within 1%; experts: vLLM's fused_moe workspaces, an estimate that no trace checks.
"""

from __future__ import annotations

from builder.reference.inference_job import InferenceJob

HALF, FP32 = 2, 4
IDS_BYTES = 16
"""A token's id and its position, int64 each."""


def standing(job: InferenceJob) -> int:
    """What stands beside every point, bytes per token."""
    shape, family = job.shape, job.family
    streams = 1 + family.learned_positions + (shape.layers > 1)
    turning = int(shape.head_dim * job.model.rotary_share)
    tables = 2 * family.rotary_tables * turning * (FP32 if family.rotates_in_fp32 else HALF)
    return streams * shape.hidden_size * HALF + tables + IDS_BYTES


def norm_work(job: InferenceJob, width: int) -> int:
    """What a norm over so many elements of a token holds beside its input."""
    if job.family.layer_norm:
        return HALF * width
    return (2 * FP32 + (HALF if job.family.late_norm_cast else 0)) * width


def hidden_tensors(job: InferenceJob) -> int:
    """Tensors of the hidden width that an MLP at work has beside it: hidden states, its input, attention's output where that is held."""
    family = job.family
    return (not family.parallel_mlp) + family.norms_first + family.holds_attention_output


def product_tensors(job: InferenceJob) -> int:
    """Tensors of the feed-forward width when the product is made; a GELU in steps has four."""
    family = job.family
    if family.gelu_steps:
        return 4
    return 2 + family.gated_mlp + family.fused_gate_up


def up_tensors(job: InferenceJob) -> int:
    """The same when up's output is made: beside it the activation of gate; a fused gate and up are twice as wide."""
    return 2 if job.family.gated_mlp else 1


def weight_copy(job: InferenceJob, matrices: int = 1) -> int:
    """An NF4 matrix of the MLP in 16 bits, as long as it is multiplied."""
    if not job.weight_storage.startswith("NF4") or not job.family.quantises_mlp:
        return 0
    return matrices * job.shape.hidden_size * job.shape.feed_forward * HALF


def experts(job: InferenceJob) -> int:
    """Of an MLP of experts, bytes per token: hidden states, its input and its output, what the experts of the token hold, the router."""
    shape, preset = job.shape, job.model.shape
    d, ff = shape.hidden_size, shape.feed_forward
    inner = max((2 if job.family.gated_mlp else 1) * ff, d) + ff
    return HALF * (3 * d + preset.experts_per_token * inner) + 2 * FP32 * preset.experts


def points(job: InferenceJob) -> dict[str, tuple[int, int]]:
    """(bytes per token, bytes) of each point; zeros where a model has no such point."""
    shape, family = job.shape, job.family
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    base, normed = standing(job), HALF * d * family.norms_first
    mlp = base + hidden_tensors(job) * d * HALF
    after = family.norms_per_layer > 2 or not family.norms_first
    found = {
        "norm": (base + norm_work(job, d), 0),
        "qk_norm": (base + normed + HALF * q + norm_work(job, q), 0) if family.qk_norms else (0, 0),
        "rotation": (base + normed + HALF * (4 * q + 2 * kv), 0) if family.rotary_tables else (0, 0),
        "up": (mlp + up_tensors(job) * HALF * ff, weight_copy(job, 1 + family.fused_gate_up)),
        "product": (mlp + product_tensors(job) * HALF * ff, 0),
        "down": (mlp + HALF * (ff + d), weight_copy(job)),
        "post_norm": (base + 2 * d * HALF + norm_work(job, d), 0) if after else (0, 0),
        "experts": (0, 0),
    }
    if family.experts:
        found |= {"up": (0, 0), "product": (0, 0), "down": (0, 0), "experts": (base + experts(job), 0)}
    return found


def activations_bytes(job: InferenceJob, tokens: int) -> int:
    """The largest point of a pass over so many tokens."""
    return max(per_token * tokens + fixed for per_token, fixed in points(job).values())


def quantities(job: InferenceJob) -> dict[str, float]:
    """`step_tokens`, each point's `<point>_token_bytes`, `up_fixed_bytes` and `down_fixed_bytes`, and `activations_bytes`."""
    found = points(job)
    return {
        "step_tokens": job.step_tokens,
        "pass_standing_bytes": standing(job),
        **{f"{name}_token_bytes": per_token for name, (per_token, _) in found.items()},
        **{f"{name}_fixed_bytes": found[name][1] for name in ("up", "down")},
        "activations_bytes": activations_bytes(job, job.step_tokens),
    }
