"""What to size a server against, the room for its KV cache, and the verdict. Units: bytes, GB (10^9 bytes), tokens.

    need      = weights + KV cache of the load + activations + logits            runtime = workspace + context
    total     = need + runtime + memory already in use
    KV room   = room - weights - activations - logits, not below 0
    KV tokens = whole blocks of every layer in that room x tokens of a block

    FITS  the need is within the room      TIGHT  with one sequence's KV cache it is: the server runs, other sequences wait      else DOES NOT FIT

KV tokens count every layer as if it held each token, as vLLM prints it ("GPU KV cache size"); where layers slide, more sequences fit than
these tokens say, which the largest concurrency counts. Source: vLLM kv_cache_utils; this project's public interface.
"""

from __future__ import annotations

from math import floor
from typing import Mapping

from builder.reference.article_verdict import CHECK_INPUTS, DOES_NOT_FIT, FITS
from builder.reference.inference_job import InferenceJob
from builder.reference.inference_place import GB, ServerPlace

TIGHT = "! TIGHT"
WEIGHTS, KV_CACHE = "Weights", "KV cache"
OUTPUTS = (
    "weights_gb", "kv_cache_gb", "activations_gb", "logits_gb", "runtime_gb", "total_gb", "kv_cache_tokens", "gpu_capacity_gb",
    "budget_gb", "headroom_gb", "utilization", "fit_verdict",
)


def verdict(place: ServerPlace, one: float, need: float) -> str:
    """Of a job that needs so much, and so much with one sequence."""
    return FITS if place.fits(need) else TIGHT if place.fits(one) else DOES_NOT_FIT


def check_inputs() -> dict[str, object]:
    """The public outputs of a job with an invalid input."""
    return {**dict.fromkeys(OUTPUTS), "fit_verdict": CHECK_INPUTS}


def kv_tokens(job: InferenceJob, room: float, block: float) -> int:
    """Tokens of whole blocks in a room."""
    return floor(room / block) * job.kv_block_tokens


def quantities(job: InferenceJob, values: Mapping[str, float], place: ServerPlace) -> dict[str, float | str]:
    """Public outputs from bytes, and the rooms."""
    fixed = values["weights_bytes"] + values["activations_bytes"] + values["logits_bytes"]
    need, one = fixed + values["kv_cache_bytes"], fixed + values["one_sequence_bytes"]
    runtime = place.workspace + place.context
    kv_room = max(0, place.room_bytes - fixed)
    return {
        "context_bytes": place.context,
        "workspace_bytes": place.workspace,
        "traced_reserve_bytes": need,
        "traced_peak_bytes": one,
        "free_bytes": place.free_bytes,
        "budget_bytes": place.budget_bytes,
        "budget_gb": place.budget_bytes / GB,
        "unused_gb": place.capacity_gb - place.budget_bytes / GB,
        "room_bytes": place.room_bytes,
        "tight_room_bytes": place.tight_room_bytes,
        "kv_room_bytes": kv_room,
        "weights_gb": values["weights_bytes"] / GB,
        "kv_cache_gb": values["kv_cache_bytes"] / GB,
        "activations_gb": values["activations_bytes"] / GB,
        "logits_gb": values["logits_bytes"] / GB,
        "runtime_gb": runtime / GB,
        "cuda_context_gb": place.context / GB,
        "total_gb": place.size_gb(need),
        "headroom_gb": place.headroom_gb(need),
        "utilization": place.size_gb(need) / place.capacity_gb,
        "kv_cache_tokens": kv_tokens(job, kv_room, values["full_block_bytes"] + values["sliding_block_bytes"]),
        "fit_verdict": verdict(place, one, need),
    }
