"""Weights of a GGUF file of the mix Q4_K_M, tensor by tensor. Units: bytes, bytes per weight.

    Q4_K 144 bytes per 256 weights    Q5_K 176    Q6_K 210    Q8_0 34 per 32    Q5_0 22 per 32    Q5_1 24 per 32

    q, k, o, gate, up    Q4_K; with 8 experts k Q8_0 and o Q5_K
    v                    Q6_K in the layers with more bits, else Q4_K; with 80 layers and grouped heads Q5_K there; with 8 experts Q8_0
    fused q, k and v     Q5_K
    down                 Q6_K in the layers with more bits, else Q4_K; Falcon: Q6_K in the first sixteenth, Q5_K in others with more bits
    output head          Q6_K, of Falcon Q8_0; an embedding that is the head as well is of its type, any other Q4_K
    more bits            layer i of n where i < n/8, i >= 7n/8 or (i - n/8) mod 3 = 2, in whole numbers

A tensor whose rows are no multiple of 256 is Q5_0 for Q4_K, Q5_1 for Q5_K, Q8_0 for Q6_K. Norms, biases, routers and tables of positions
stay in FP32. Source: ggml-org/llama.cpp@007dbbf src/llama-quant.cpp, read 2026-11-30;
a fused q, k and v as in published files of Phi-3 and Phi-4 (the release read treats it as v: 0.2% more).
"""

from __future__ import annotations

from builder.reference.inference_job import InferenceJob

BLOCK = 256
Q8_0 = 34 / 32
TYPES = {"Q4": 144 / 256, "Q5": 176 / 256, "Q6": 210 / 256}
FALLBACK = {"Q4": 22 / 32, "Q5": 24 / 32, "Q6": Q8_0}


def per_weight(kind: str, row: int) -> float:
    """Bytes of a weight of a type, in a tensor whose rows have so many weights."""
    return (FALLBACK if row % BLOCK else TYPES)[kind]


def more_bits(layer: int, layers: int) -> bool:
    """Whether the mix spends more bits on v and down of this layer, counted from 0."""
    low, high = layers // 8, 7 * layers // 8
    return layer < low or layer >= high or (layer - low) % 3 == 2


def kinds(layers: int) -> dict[tuple[bool, bool], int]:
    """How many layers there are of each kind: (in the first sixteenth, with more bits). The first sixteenth is within the first eighth."""
    low, high = layers // 8, 7 * layers // 8
    more = low + (layers - high) + len(range(low + 2, high, 3))
    early = layers // 16
    return {(True, True): early, (False, True): more - early, (False, False): layers - more}


def is_falcon(job: InferenceJob) -> bool:
    return job.family.name == "Falcon"


def value_bytes(job: InferenceJob, more: bool) -> float:
    """Per weight of v."""
    if job.model.shape.experts == 8:
        return Q8_0
    grouped = job.shape.heads > job.shape.kv_heads
    less = "Q5" if job.shape.layers == 80 and grouped else "Q4"
    return per_weight("Q6" if more else less, job.shape.hidden_size)


def down_bytes(job: InferenceJob, early: bool, more: bool) -> float:
    """Per weight of down."""
    if is_falcon(job):
        kind = "Q6" if early else "Q5" if more else "Q4"
    else:
        kind = "Q6" if more else "Q4"
    return per_weight(kind, job.shape.feed_forward)


def layer_bytes(job: InferenceJob, early: bool, more: bool) -> float:
    """The projections of a layer of a kind, those of every expert."""
    shape, experts = job.shape, job.model.shape.experts or 1
    d, q, kv, ff = shape.hidden_size, shape.q_width, shape.kv_width, shape.feed_forward
    eight = experts == 8
    plain = per_weight("Q4", d)
    if job.family.fused_qkv:
        attention = d * (q + 2 * kv) * per_weight("Q5", d)
    else:
        attention = d * q * plain + d * kv * (Q8_0 if eight else plain) + d * kv * value_bytes(job, more)
    attention += q * d * per_weight("Q5" if eight and not is_falcon(job) else "Q4", q)
    gate_and_up = (2 if job.family.gated_mlp else 1) * d * ff * plain
    return attention + experts * (gate_and_up + ff * d * down_bytes(job, early, more))


def projection_bytes(job: InferenceJob) -> float:
    """The projections of all layers."""
    return sum(count * layer_bytes(job, *kind) for kind, count in kinds(job.shape.layers).items())


def head_bytes_per_weight(job: InferenceJob) -> float:
    """Of the output head, and of an embedding that is the head as well."""
    return Q8_0 if is_falcon(job) else per_weight("Q6", job.shape.hidden_size)


def quantities(job: InferenceJob) -> dict[str, float]:
    """`gguf_more_layers`, `gguf_projections_bytes`, and bytes per weight of embedding and head."""
    head = head_bytes_per_weight(job)
    return {
        "gguf_more_layers": sum(count for (_, more), count in kinds(job.shape.layers).items() if more),
        "gguf_projections_bytes": projection_bytes(job),
        "gguf_head_element_bytes": head,
        "gguf_embedding_element_bytes": head if job.model.shape.tied_embeddings else per_weight("Q4", job.shape.hidden_size),
    }
