"""The replay of the caching allocator on small sequences that can be worked out by hand."""
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tracer.allocator import MIB, CachingAllocator, rounded

KIB = 1 << 10


@pytest.fixture
def allocator():
    return CachingAllocator()


def blocks(allocator):
    """Every block by the segment that it is in, from left to right."""
    lefts = [block for block in allocator._blocks.values() if block.before is None]
    return [list(chain(left)) for left in lefts]


def chain(block):
    while block is not None:
        yield block
        block = block.after


@pytest.mark.parametrize("nbytes, size", [(1, 512), (512, 512), (513, 1024), (1000, 1024), (MIB, MIB)])
def test_a_request_rounds_up_to_512_bytes(allocator, nbytes, size):
    assert rounded(nbytes) == size
    assert allocator.allocate(nbytes).size == allocator.allocated == size


@pytest.mark.parametrize("nbytes, segment", [
    (1, 2 * MIB), (MIB, 2 * MIB), (MIB + 1, 20 * MIB), (10 * MIB - 512, 20 * MIB),
    (10 * MIB, 10 * MIB), (10 * MIB + 1, 12 * MIB), (21 * MIB, 22 * MIB), (22 * MIB, 22 * MIB),
])
def test_the_segment_of_a_request(allocator, nbytes, segment):
    allocator.allocate(nbytes)
    assert allocator.reserved == allocator.peak_reserved == segment


def test_small_requests_share_a_segment(allocator):
    for _ in range(2 * MIB // 512):
        allocator.allocate(512)
    assert allocator.reserved == 2 * MIB
    allocator.allocate(1)
    assert allocator.reserved == 4 * MIB


def test_small_and_large_requests_share_no_segment(allocator):
    allocator.release(allocator.allocate(15 * MIB))
    allocator.allocate(MIB)
    assert allocator.reserved == 18 * MIB  # 16 and 2


@pytest.mark.parametrize("left, split", [(0, False), (512, True)])
def test_a_small_block_splits_where_512_bytes_remain(allocator, left, split):
    first = allocator.allocate(MIB)
    allocator.allocate(MIB)
    allocator.release(first)
    assert allocator.allocate(MIB - left).size == MIB - left
    assert len(blocks(allocator)[0]) == 2 + split


@pytest.mark.parametrize("left, split", [(512, False), (MIB, False), (MIB + 512, True), (5 * MIB, True)])
def test_a_large_block_splits_where_more_than_1_mib_remains(allocator, left, split):
    allocator.release(allocator.allocate(30 * MIB))
    block = allocator.allocate(30 * MIB - left)
    assert block.size == allocator.allocated == 30 * MIB - left * split  # a block that is not split counts whole
    assert len(blocks(allocator)[0]) == 1 + split and allocator.reserved == 30 * MIB


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1)])
def test_free_neighbours_merge_on_both_sides(allocator, order):
    made = [allocator.allocate(4 * MIB) for _ in range(3)]
    for number in order:
        allocator.release(made[number])
    (segment,) = blocks(allocator)
    assert [block.size for block in segment] == [20 * MIB] and segment[0].free
    assert allocator.allocated == 0 and allocator.peak_allocated == 12 * MIB


def test_neighbours_in_use_do_not_merge(allocator):
    made = [allocator.allocate(4 * MIB) for _ in range(5)]
    for number in (0, 2, 4):
        allocator.release(made[number])
    assert [(block.size // MIB, block.free) for block in blocks(allocator)[0]] == [(4, True), (4, False)] * 2 + [(4, True)]


def test_segments_do_not_merge(allocator):
    for block in [allocator.allocate(10 * MIB) for _ in range(2)]:
        allocator.release(block)
    allocator.allocate(20 * MIB)
    assert allocator.reserved == 40 * MIB


def test_the_smallest_free_block_that_fits_is_taken(allocator):
    made = {size: allocator.allocate(size * MIB) for size in (40, 20, 30)}
    for block in made.values():
        allocator.release(block)
    assert allocator.allocate(19 * MIB) is made[20]
    assert allocator.allocate(19 * MIB) is made[30]
    assert allocator.allocate(35 * MIB) is made[40]
    assert allocator.reserved == 90 * MIB


def test_of_equal_blocks_the_oldest_is_taken(allocator):
    first, second = allocator.allocate(10 * MIB), allocator.allocate(10 * MIB)
    allocator.release(second)
    allocator.release(first)
    assert allocator.allocate(10 * MIB) is first


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 40), st.one_of(st.integers(1, 4 * KIB), st.integers(1, 2 * MIB), st.integers(1, 50 * MIB))), max_size=60))
def test_no_byte_is_lost(steps):
    """After any sequence the blocks fill the segments, none overlaps, no two free ones touch, and the pools list the free ones."""
    allocator, held, high = CachingAllocator(), [], 0
    for release, number, nbytes in steps:
        if release and held:
            allocator.release(held.pop(number % len(held))[0])
        else:
            held.append((allocator.allocate(nbytes), nbytes))
        high = max(high, allocator.allocated)
    segments = blocks(allocator)
    everything = [block for segment in segments for block in segment]
    assert sum(block.size for block in everything) == allocator.reserved and len(everything) == len(allocator._blocks)
    assert {id(block) for block in everything if not block.free} == {id(block) for block, _ in held}
    assert allocator.allocated == sum(block.size for block, _ in held) and allocator.peak_allocated == high <= allocator.reserved
    assert all(nbytes <= block.size and block.size - rounded(nbytes) <= (0 if block.small else MIB) for block, nbytes in held)
    assert all(left.after is right and right.before is left and not (left.free and right.free)
               for segment in segments for left, right in zip(segment, segment[1:]))
    for small, pool in allocator._pools.items():
        assert pool == sorted((block.size, block.number) for block in everything if block.free and block.small == small)
    for block, _ in held:
        allocator.release(block)
    assert allocator.allocated == 0 and all(len(segment) == 1 for segment in blocks(allocator))
