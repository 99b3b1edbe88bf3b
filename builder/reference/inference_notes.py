"""Notes on valid inputs of the inference book: what no longer goes together, or rests on an estimate.

    a shape override does not change the parameter count
    the capacity of some cards is an estimate, which an override replaces
    a model with a table of positions takes no longer sequence

Source: this project's public interface; the texts are constants of the presets.
"""

from __future__ import annotations

from typing import Mapping

from builder.reference.inference_job import InferenceJob

TEXTS = ("note_shape", "note_estimate", "note_positions")


def notes(job: InferenceJob, parameters_differ: bool, texts: Mapping[str, str]) -> str:
    """The notes that apply, each with a space after it."""
    applying = {
        "note_shape": parameters_differ,
        "note_estimate": job.card.memory.estimate and job.gpu_capacity_override_gb is None,
        "note_positions": job.context_tokens > (job.model.shape.learned_positions or job.context_tokens),
    }
    return "".join(f"{texts[name]} " for name, applies in applying.items() if applies)
