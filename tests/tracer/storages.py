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


class Entry:
    """One storage; the clock of LiveStorages when it was born and when it died."""

    __slots__ = ("size", "tag", "born", "died", "reference")

    def __init__(self, size: int, tag: Tag, born: int):
        self.size, self.tag, self.born, self.died = size, tag, born, None


class LiveStorages(TorchDispatchMode):
    """Adds up live storages; keeps the peak of each phase and what was alive at it.

    A storage counts its size rounded up to 512 bytes. `allocator` gets the same allocations and releases.
    """

    def __init__(self) -> None:
        super().__init__()
        self.phase, self.modules = "load", []
        self.now = self._clock = 0
        self.peaks: dict[str, int] = {}
        self.operations: dict[str, Tag] = {}
        self.allocator = CachingAllocator()
        self._live: set[int] = set()
        self._entries: list[Entry] = []
        self._peak_at: dict[str, tuple[int, int]] = {}

    def add(self, tensor: torch.Tensor, operation: str) -> None:
        """Count the storage of a tensor, once."""
        storage = tensor.untyped_storage()
        key, nbytes = storage._cdata, storage.nbytes()
        if key in self._live or nbytes == 0:
            return
        block = self.allocator.allocate(nbytes)
        self._clock += 1
        entry = Entry(rounded(nbytes), self._tag(operation, tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")), self._clock)

        def died(_: object) -> None:
            self._clock += 1
            self.now -= entry.size
            entry.died = self._clock
            self._live.remove(key)
            self.allocator.release(block)

        entry.reference = weakref.ref(storage, died)
        self._live.add(key)
        self._entries.append(entry)
        self.now += entry.size
        self._note(0, entry.tag)

    def _tag(self, operation: str, shape: tuple[int, ...], dtype: str) -> Tag:
        return Tag(self.phase, self.modules[-1] if self.modules else "", operation, shape, dtype)

    def _note(self, extra: int, tag: Tag) -> None:
        """Compare with the peak of the phase what is alive now and `extra` bytes that an operation holds while it runs."""
        if self.now + extra > self.peaks.get(self.phase, 0):
            self.peaks[self.phase] = self.now + extra
            self.operations[self.phase] = tag
            self._peak_at[self.phase] = (self._clock, extra)

    def transient(self, nbytes: int, operation: str) -> None:
        """A block that an operation takes and gives back."""
        if nbytes:
            self._note(rounded(nbytes), self._tag(operation, (), "bytes"))
            self.allocator.release(self.allocator.allocate(nbytes))

    def enter(self, phase: str) -> None:
        """Begin a phase, whose peak is at least what is alive now."""
        self.phase = phase
        self._note(0, Tag(phase, "", "begin", (), ""))

    def forget_peaks(self) -> None:
        """Start the peaks anew, at the beginning of a step."""
        self.peaks, self.operations, self._peak_at = {}, {}, {}
        self._entries = [entry for entry in self._entries if entry.died is None]

    def tables(self) -> dict[str, list[tuple[int, Tag]]]:
        """(bytes, tag) of every storage that was alive at the peak of each phase."""
        found = {}
        for phase, (clock, extra) in self._peak_at.items():
            found[phase] = [(entry.size, entry.tag) for entry in self._entries if entry.born <= clock and (entry.died is None or entry.died > clock)]
            found[phase] += [(extra, self.operations[phase])] if extra else []
        return found

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
