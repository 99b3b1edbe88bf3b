"""Counts every storage that is alive, from the operation that makes it to the release of its last reference."""
from __future__ import annotations

import weakref
from collections import Counter
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from tests.tracer.allocator import CachingAllocator, rounded


@dataclass(frozen=True)
class Tag:
    """Where a storage comes from: the phase and module that ran, the operation, and the tensor that it held first."""

    phase: str
    module: str
    operation: str
    shape: tuple[int, ...]
    dtype: str


class LiveStorages(TorchDispatchMode):
    """Adds up live storages; keeps the peak of each phase and what was alive at it.

    A storage counts its size rounded up to 512 bytes. `allocator` gets the same allocations and releases.
    """

    def __init__(self) -> None:
        super().__init__()
        self.phase, self.modules = "load", []
        self.now = 0
        self.peaks: dict[str, int] = {}
        self.tables: dict[str, list[tuple[int, Tag]]] = {}
        self.operations: dict[str, Tag] = {}
        self.allocator = CachingAllocator()
        self._live: dict[int, tuple[int, Tag, object]] = {}

    def add(self, tensor: torch.Tensor, operation: str) -> None:
        """Count the storage of a tensor, once."""
        storage = tensor.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key in self._live or nbytes == 0:
            return
        tag = Tag(self.phase, self.modules[-1] if self.modules else "", operation, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch."))
        size, block = rounded(nbytes), self.allocator.allocate(nbytes)

        def died(_: object) -> None:
            self.now -= size
            del self._live[key]
            self.allocator.release(block)

        self._live[key] = (size, tag, weakref.ref(storage, died))
        self.now += size
        self.note(0, tag)

    def note(self, extra: int, tag: Tag) -> None:
        """Compare with the peak of the phase what is alive now and `extra` bytes that an operation holds while it runs."""
        if self.now + extra > self.peaks.get(self.phase, 0):
            self.peaks[self.phase] = self.now + extra
            self.operations[self.phase] = tag
            self.tables[self.phase] = [entry[:2] for entry in self._live.values()] + ([(extra, tag)] if extra else [])

    def transient(self, nbytes: int, operation: str) -> None:
        """A block that an operation takes and gives back."""
        if nbytes:
            self.note(rounded(nbytes), Tag(self.phase, self.modules[-1] if self.modules else "", operation, (), "bytes"))
            self.allocator.release(self.allocator.allocate(nbytes))

    def enter(self, phase: str) -> None:
        """Begin a phase, whose peak is at least what is alive now."""
        self.phase = phase
        self.note(0, Tag(phase, "", "begin", (), ""))

    def forget_peaks(self) -> None:
        """Start the peaks anew, at the beginning of a step."""
        self.peaks, self.tables, self.operations = {}, {}, {}

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        out = operation(*args, **(kwargs or {}))
        name = str(operation).removeprefix("aten.")
        for leaf in tree_leaves(out):
            if isinstance(leaf, torch.Tensor):
                self.add(leaf, name)
        if "gemm_4bit" in name:  # CUDA: the weight is dequantised to the input's type for the length of the operation
            self.transient(args[0].element_size() * args[2][0] * args[2][1], f"{name} dequantised weight")
        return out


def summed(table: list[tuple[int, Tag]]) -> list[tuple[int, int, Tag]]:
    """(bytes, count, tag) of what was alive, largest first."""
    size, count = Counter(), Counter()
    for nbytes, tag in table:
        size[tag] += nbytes
        count[tag] += 1
    return [(nbytes, count[tag], tag) for tag, nbytes in size.most_common()]
