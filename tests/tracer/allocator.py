"""Replay of PyTorch's CUDA caching allocator: from allocations and releases to the memory that it reserves.

Rules of c10/cuda/CUDACachingAllocator.cpp (PyTorch 2.13) with default settings and one stream. A request rounds up to 512 bytes.
Up to 1 MiB it is served from segments of 2 MiB (the small pool); above, from segments of 20 MiB, or from 10 MiB on from one of its
own, rounded up to 2 MiB (the large pool). The smallest free block that fits is taken, and split where at least 512 bytes (small)
or more than 1 MiB (large) would remain. Free neighbours in a segment merge. No segment is returned.
"""
from __future__ import annotations

import bisect

MIB = 1 << 20
ROUND = 512
SMALL_REQUEST, SMALL_SEGMENT = MIB, 2 * MIB
LARGE_SEGMENT, OWN_SEGMENT_FROM, OWN_SEGMENT_ROUND = 20 * MIB, 10 * MIB, 2 * MIB


def rounded(nbytes: int, to: int = ROUND) -> int:
    """`nbytes` rounded up to a multiple of `to`."""
    return -(-nbytes // to) * to


class Block:
    """A stretch of a segment: in use, or free and then in its pool's list. `before` and `after` are its neighbours there."""

    __slots__ = ("number", "size", "small", "before", "after", "free")

    def __init__(self, number: int, size: int, small: bool):
        self.number, self.size, self.small = number, size, small
        self.before = self.after = None
        self.free = False


class CachingAllocator:
    """Counts bytes: `allocated` (whole blocks, as max_memory_allocated() counts) and `reserved`, each with its peak."""

    def __init__(self) -> None:
        self.allocated = self.peak_allocated = self.reserved = 0
        self._pools: dict[bool, list[tuple[int, int]]] = {True: [], False: []}  # small? -> (size, number) of free blocks, smallest first
        self._blocks: dict[int, Block] = {}  # every block, by number; numbers grow with age
        self._numbers = 0

    @property
    def peak_reserved(self) -> int:
        """Segments are never returned, so this is the peak as well."""
        return self.reserved

    def allocate(self, nbytes: int) -> Block:
        """A block for a request of `nbytes` > 0."""
        size = rounded(nbytes)
        small = size <= SMALL_REQUEST
        pool = self._pools[small]
        at = bisect.bisect_left(pool, (size, 0))
        block = self._blocks[pool.pop(at)[1]] if at < len(pool) else self._segment(size, small)
        block.free = False
        self._split(block, size)
        self.allocated += block.size
        self.peak_allocated = max(self.peak_allocated, self.allocated)
        return block

    def release(self, block: Block) -> None:
        """Free a block and merge it with free neighbours."""
        self.allocated -= block.size
        if block.before is not None and block.before.free:
            block = self._merge(self._taken(block.before), block)
        if block.after is not None and block.after.free:
            block = self._merge(block, self._taken(block.after))
        block.free = True
        bisect.insort(self._pools[block.small], (block.size, block.number))

    def _new(self, size: int, small: bool) -> Block:
        self._numbers += 1
        block = self._blocks[self._numbers] = Block(self._numbers, size, small)
        return block

    def _segment(self, size: int, small: bool) -> Block:
        if small:
            segment = SMALL_SEGMENT
        else:
            segment = LARGE_SEGMENT if size < OWN_SEGMENT_FROM else rounded(size, OWN_SEGMENT_ROUND)
        self.reserved += segment
        return self._new(segment, small)

    def _split(self, block: Block, size: int) -> None:
        left = block.size - size
        if left < ROUND or (not block.small and left <= SMALL_REQUEST):
            return
        rest = self._new(left, block.small)
        rest.before, rest.after = block, block.after
        if rest.after is not None:
            rest.after.before = rest
        block.after, block.size = rest, size
        rest.free = True
        bisect.insort(self._pools[rest.small], (rest.size, rest.number))

    def _taken(self, block: Block) -> Block:
        """A free block, out of its pool's list."""
        pool = self._pools[block.small]
        del pool[bisect.bisect_left(pool, (block.size, block.number))]
        return block

    def _merge(self, left: Block, right: Block) -> Block:
        left.size += right.size
        left.after = right.after
        if left.after is not None:
            left.after.before = left
        del self._blocks[right.number]
        return left
