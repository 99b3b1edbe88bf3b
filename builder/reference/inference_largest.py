"""The most sequences at a context, the longest context at a concurrency, and where the KV cache outgrows the weights. Units: sequences, tokens.

    max_concurrent_sequences   the most sequences of the stated prompt and output that fit
    max_context_tokens         the most tokens, prompt and output, of each of the stated sequences that fit
    kv_dominates_from_tokens   the fewest tokens of each of the stated sequences whose KV cache is larger than the weights

Found by bisection, because one sequence or token more never needs less. What a pass holds does not depend on the context: a server sets aside
a whole chunk. Source: this project's public interface.
"""

from __future__ import annotations

from typing import Callable

from builder.reference import inference_activations, inference_kv_cache, inference_logits
from builder.reference.inference_job import InferenceJob
from builder.reference.inference_place import ServerPlace
from builder.reference.inference_total import KV_CACHE, WEIGHTS

MOST_SEQUENCES, MOST_TOKENS = 1_000_000, 2_000_000
"""The largest that the inputs take: sequences; prompt and output together."""
NEVER = "never"
OUTPUTS = ("max_concurrent_sequences", "max_context_tokens")


def need_bytes(job: InferenceJob, weights: float, sequences: int, tokens: int) -> float:
    """Of so many sequences with so many tokens each: weights, KV cache, and the larger of layers and sampling."""
    in_pass = max(job.prefill_chunk_tokens, sequences)
    layers = inference_activations.activations_bytes(job, in_pass)
    sampling = inference_logits.sampling_bytes(job, in_pass, sequences)
    return weights + inference_kv_cache.load_bytes(job, sequences, tokens) + max(layers, sampling)


def largest(fits: Callable[[int], bool], most: int) -> int:
    """The largest whole number up to `most` that fits, given that below one that fits all do; 0 if none does."""
    low, high = 0, most + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def most_sequences(job: InferenceJob, weights: float, place: ServerPlace) -> int:
    return largest(lambda sequences: place.fits(need_bytes(job, weights, sequences, job.context_tokens)), MOST_SEQUENCES)


def most_tokens(job: InferenceJob, weights: float, place: ServerPlace) -> int:
    return largest(lambda tokens: place.fits(need_bytes(job, weights, job.concurrent_sequences, tokens)), MOST_TOKENS)


def dominates_from(job: InferenceJob, weights: float) -> int | str:
    """The first context whose KV cache is larger than the weights; never, where even the longest is not."""
    below = largest(lambda tokens: inference_kv_cache.load_bytes(job, job.concurrent_sequences, tokens) <= weights, MOST_TOKENS)
    return NEVER if below == MOST_TOKENS else below + 1


def quantities(job: InferenceJob, weights: float, kv_cache: float, place: ServerPlace) -> dict[str, int | str]:
    """The three, and which of the two is larger: `dominant`."""
    return {
        "max_concurrent_sequences": most_sequences(job, weights, place),
        "max_context_tokens": most_tokens(job, weights, place),
        "dominant": KV_CACHE if kv_cache > weights else WEIGHTS,
        "kv_dominates_from_tokens": dominates_from(job, weights),
    }
