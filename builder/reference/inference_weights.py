"""Weights on the card, by storage format. Units: bytes.

    projections   weights x bytes of the format + scales; what the format leaves is in 16 bits
    embedding, head   16 bits; GGUF quantises them too
    all else      norms, biases, sinks, positions: 16 bits, GGUF 32; routers: 16 bits, GGUF 32

    BF16, FP16           2 bytes a weight
    FP8, INT8            1, and an FP32 scale per output
    NF4                  1/2, and per 64 an FP32 scale; double-quantised a byte and 1/256 of an FP32 (vLLM undoes that as it loads them)
    AWQ / GPTQ 4-bit     1/2, and per 128 an FP16 scale and a 4-bit zero
    MXFP4                1/2, and per 32 a byte of scale; experts only
    GGUF Q8_0            34 bytes per 32
    GGUF Q4_K_M          inference_gguf

bitsandbytes leaves what transformers does not replace (experts held as one tensor, subclasses of Linear); the other formats quantise the
experts too. GPTQ's order of rows, 4 bytes an input, is left out: up to 0.3%.

Source: inference_gguf; vLLM bitsandbytes_loader (in-flight NF4) and compressed-tensors; AutoAWQ and GPTQ, group size 128; openai/gpt-oss-20b
(MXFP4). Published checkpoints: 16 bits, AWQ and MXFP4 to the byte of their tensors, FP8 within 0.1%, GGUF to the byte but for the header.
"""

from __future__ import annotations

from builder.reference import inference_gguf
from builder.reference.inference_job import InferenceJob
from builder.reference.parameter_count import parameters_from_shape

HALF, FP32 = 2, 4
MIX, MXFP4 = "GGUF Q4_K_M", "MXFP4"
ELEMENT = {
    "BF16": 2, "FP16": 2, "FP8": 1, "INT8": 1, "NF4": 0.5, "NF4 double-quantised": 0.5, "AWQ / GPTQ 4-bit": 0.5, MXFP4: 0.5,
    "GGUF Q8_0": inference_gguf.Q8_0,
}
SCALES = {"NF4": (FP32, 64), "NF4 double-quantised": (1 + FP32 / 256, 64), "AWQ / GPTQ 4-bit": (HALF + 0.5, 128), MXFP4: (1, 32)}
"""Bytes of scale and zero of a group, and its weights."""
OUTPUT_SCALE = {"FP8": FP32, "INT8": FP32}


def is_gguf(job: InferenceJob) -> bool:
    return job.weight_storage.startswith("GGUF")


def attention_weights(job: InferenceJob) -> int:
    """q, k, v and o of a layer."""
    shape = job.shape
    return shape.hidden_size * (2 * shape.q_width + 2 * shape.kv_width)


def mlp_weights(job: InferenceJob) -> int:
    """gate, up and down of a layer, those of every expert."""
    return (job.model.shape.experts or 1) * (3 if job.family.gated_mlp else 2) * job.shape.hidden_size * job.shape.feed_forward


def outputs(job: InferenceJob, attention: bool, mlp: bool) -> int:
    """Outputs of a layer's projections."""
    shape, experts = job.shape, job.model.shape.experts or 1
    of_attention = shape.q_width + 2 * shape.kv_width + shape.hidden_size
    of_mlp = experts * ((2 if job.family.gated_mlp else 1) * shape.feed_forward + shape.hidden_size)
    return of_attention * attention + of_mlp * mlp


def router_weights(job: InferenceJob) -> int:
    return (job.model.shape.experts or 0) * job.shape.hidden_size if job.family.experts else 0


def stored_in_format(job: InferenceJob) -> tuple[bool, bool]:
    """Whether the format holds the projections of attention, and those of the MLP; it leaves the others in 16 bits."""
    if job.weight_storage.startswith("NF4"):
        return job.family.quantises_attention, job.family.quantises_mlp
    return job.weight_storage != MXFP4, job.weight_storage != MXFP4 or job.family.experts


def projections_bytes(job: InferenceJob) -> float:
    """Projections of all layers, with their scales, and those that the format leaves."""
    storage, layers = job.weight_storage, job.shape.layers
    if storage == MIX:
        return inference_gguf.projection_bytes(job)
    attention, mlp = stored_in_format(job)
    stored = attention_weights(job) * attention + mlp_weights(job) * mlp
    left = attention_weights(job) + mlp_weights(job) - stored
    scale, group = SCALES.get(storage, (0, 1))
    scales = stored / group * scale + OUTPUT_SCALE.get(storage, 0) * outputs(job, attention, mlp)
    return layers * (stored * ELEMENT[storage] + scales + left * HALF)


def embeddings_bytes(job: InferenceJob) -> float:
    """Embedding and output head."""
    one = job.shape.vocabulary * job.shape.hidden_size
    tied = job.model.shape.tied_embeddings
    if job.weight_storage == MIX:
        found = inference_gguf.quantities(job)
        return one * (found["gguf_embedding_element_bytes"] + (0 if tied else found["gguf_head_element_bytes"]))
    return one * (1 if tied else 2) * (inference_gguf.Q8_0 if is_gguf(job) else HALF)


def others(job: InferenceJob) -> int:
    """Parameters outside projections, routers, embedding and head; none where an override gives fewer than those."""
    counted = parameters_from_shape(job.shape, job.model.shape, job.family)
    parameters = counted if job.parameters_override is None else job.parameters_override
    in_layers = attention_weights(job) + mlp_weights(job) + router_weights(job)
    heads = job.shape.vocabulary * job.shape.hidden_size * (1 if job.model.shape.tied_embeddings else 2)
    return max(0, parameters - job.shape.layers * in_layers - heads)


def quantities(job: InferenceJob) -> dict[str, float]:
    """`weights_bytes` and its parts; with `gguf_` what Q4_K_M would take, whatever the storage."""
    rest = FP32 if is_gguf(job) else HALF
    found = {
        "projections_bytes": projections_bytes(job),
        "embeddings_bytes": embeddings_bytes(job),
        "other_parameters": others(job),
        "others_bytes": (others(job) + job.shape.layers * router_weights(job)) * rest,
    }
    weights = found["projections_bytes"] + found["embeddings_bytes"] + found["others_bytes"]
    return {**inference_gguf.quantities(job), **found, "weights_bytes": weights}
