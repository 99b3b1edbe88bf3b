"""Logits and sampling: one row of the vocabulary for each sequence. Units: bytes.

    sampling   hidden states of the pass + rows x vocabulary x bytes of a logit + the sampler's own buffer
    logits     what sampling needs beyond the largest point of the layers, whose tensors are gone by then

A logit has 16 bits and an FP32 copy. vLLM's Triton kernel (from v0.17 on) masks it in place: probabilities and the noise that draws, FP32 each,
and a buffer of 132 rows (one for each of the multiprocessors of an H100; other cards have fewer, and fewer sequences need less). PyTorch's
own top-k and top-p sort it: 32 bytes more (sorted values, int64 places, the work of the sort). FlashInfer needs the probabilities alone.

Source: vLLM v1/sample (sampler, topk_topp_sampler, topk_topp_triton); profile runs in its logs: 14.5 and 38 bytes a logit at 1,024 sequences on
an H100, less the hidden states (llm-d-incubation/llm-d-planner@875a4fd, v0.19.0; llm-d/llm-d-benchmark@2593348, v0.11.0).
"""

from __future__ import annotations

from builder.reference.inference_job import InferenceJob

HALF, FP32 = 2, 4
SAMPLER = {"Triton": 8, "PyTorch": 32, "FlashInfer": 4}
"""Bytes per logit beside the logit itself and its FP32 copy."""
BUFFER_ROWS = {"Triton": 132}


def row_bytes(job: InferenceJob) -> int:
    """Of one sequence."""
    return job.shape.vocabulary * (HALF + FP32 + SAMPLER[job.sampling_kernel])


def buffer_bytes(job: InferenceJob) -> int:
    """What the sampler holds whatever the number of sequences."""
    return BUFFER_ROWS.get(job.sampling_kernel, 0) * job.shape.vocabulary * FP32


def sampling_bytes(job: InferenceJob, tokens: int, sequences: int) -> int:
    """While so many sequences get their next token, after a pass over so many tokens."""
    return tokens * job.shape.hidden_size * HALF + sequences * row_bytes(job) + buffer_bytes(job)


def quantities(job: InferenceJob, activations: float) -> dict[str, float]:
    """`logits_bytes`, beyond activations of so many bytes; `sampling_bytes`, `logit_row_bytes`."""
    sampling = sampling_bytes(job, job.step_tokens, job.concurrent_sequences)
    return {
        "logit_row_bytes": row_bytes(job),
        "sampler_buffer_bytes": buffer_bytes(job),
        "sampling_hidden_bytes": job.shape.hidden_size * HALF,
        "sampling_bytes": sampling,
        "logits_bytes": max(0, sampling - activations),
    }
