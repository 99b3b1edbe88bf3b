"""Traces the memory of a real training step, tensor by tensor, without a GPU.

transformers builds the model, PEFT injects the adapters, bitsandbytes supplies quantised layers and 8-bit Adam, PyTorch runs
forward, backward and the optimizer. Only the tensors are fake: they have shapes, types and lifetimes, but no data. What every
storage occupies is what the CUDA caching allocator would give it, so the peaks are those of torch.cuda.max_memory_allocated(),
less what libraries take for themselves (cuBLAS workspaces, the CUDA context).

    python -m tests.tracer --set base_model="Llama 3 8B" --set sequence_length=2048 --table
"""
import logging
from importlib.util import find_spec

PACKAGES = ("torch", "transformers", "peft", "bitsandbytes")
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it warns, when imported, that it has no kernels for the CPU


def not_installed() -> str:
    """What a trace needs and this Python does not have, and how to get it; empty where nothing is missing."""
    missing = [name for name in PACKAGES if find_spec(name) is None]
    return f"not installed: {', '.join(missing)}; `make trace` sets them up" if missing else ""
