"""What blocks of the heap do to their V and A bits, whatever their size, and where copied bytes come from."""

from __future__ import annotations

import random
from typing import Any

import pytest

NOACCESS = 2
ROOM = 40000
EDGES = (512, 1024, 2048, 4096, 8192, 16384, 32768)
SIZES = [*range(200), *(edge + step for edge in EDGES for step in (-17, -9, -8, -1, 0, 1, 7, 16))]


@pytest.fixture
def place(sh: Any) -> int:
    """The middle of memory that is nobody's."""
    base = sh.new_map(3 * ROOM)
    sh.lib.rt_shadow_mapped(base, 3 * ROOM, NOACCESS)
    return int(base) + ROOM


@pytest.mark.parametrize("defined", [False, True])
def test_block_has_just_its_bytes(sh: Any, place: int, defined: bool) -> None:
    around = 96
    for size in SIZES:
        lo, n = place - around, size + 2 * around
        sh.lib.sh_block_allocated(place, size, defined)
        assert sh.a(lo, n) == "1" * around + "0" * size + "1" * around, size
        v = (b"\0" if defined else b"\xff") * size
        assert sh.v(lo, n) == b"\xff" * around + v + b"\xff" * around, size
        if size:  # the program has stored to some of it
            sh.lib.rt_shadow_set(place + size // 3, size - size // 3, 0)
        assert sh.lib.t_released_keeps_xmm0(place, size), size
        assert sh.a(lo, n) == "1" * n, size
        assert sh.v(lo, n) == b"\xff" * n, size


@pytest.fixture
def ts(sh: Any) -> Any:
    """A thread of a program whose origins are kept."""
    lib = sh.lib
    return lib.t_init(
        lib.IP_C_SHADOW | lib.IP_C_UNDEF | lib.IP_C_HEAP | lib.IP_C_KEEP_ALLOC_STACK | lib.IP_C_ORIGINS
    )


class Bytes:
    """Blocks whose bytes are undefined, some of them, and come from somewhere."""

    def __init__(self, sh: Any, ts: Any, rng: random.Random) -> None:
        self.sh, self.ts, self.rng = sh, ts, rng

    def block(self, size: int) -> int:
        lib = self.sh.lib
        self.ts.pc = 0x5000000 + 16 * self.rng.randrange(1000)
        words = self.sh.ffi.new("uint64_t[5]", [size, lib.IP_AK_MALLOC, 0, 0, 0])
        return int(lib.rt_heap_request(self.ts, lib.IP_HR_MALLOC, words))

    def scatter(self, block: int, size: int) -> None:
        """Some of its bytes are defined, others have been copied there."""
        lib, ffi, rng = self.sh.lib, self.sh.ffi, self.rng
        for _ in range(rng.randrange(6)):
            at, n = rng.randrange(size), rng.randrange(1, 90)
            lo, n = block + at, min(n, size - at)
            if rng.randrange(2):
                lib.origin_set_tags(lo, lo + n, 3 << lib.IP_ORIGIN_SHIFT | rng.randrange(1, 1000), ffi.NULL)
            else:
                ffi.memmove(ffi.cast("char *", lo + lib.IP_V_CONST), bytes(n), n)

    def tags(self, addr: int, n: int) -> list[int]:
        """By bytes; 0: it is defined."""
        v = self.sh.v(addr, n)
        return [self.sh.lib.origin_of_memory(self.ts, addr + i) if v[i] else 0 for i in range(n)]

    def copied(self, to: int, source: int, n: int) -> list[int]:
        """Copy so many bytes; where they came from before and come from now, which is the same."""
        before, v = self.tags(source, n), self.sh.v(source, n)
        self.sh.lib.heap_hook_copied(self.ts, to, source, n)
        assert self.sh.v(to, n) == v
        assert self.tags(to, n) == before
        return before


def test_copies_keep_the_origins_of_their_bytes(sh: Any, ts: Any) -> None:
    """From several blocks to others."""
    rng = random.Random(11)
    some = Bytes(sh, ts, rng)
    many = tagged = 0
    for _ in range(200):
        size = rng.choice((24, 100, 256, 700))
        source, target = some.block(size), some.block(size + 64)
        some.scatter(source, size)
        start = rng.randrange(size)
        n, to = rng.randrange(1, size - start + 1), target + 16 * rng.randrange(4)
        to += (start - to) % 4  # as every copy of whole words
        tags = some.copied(to, source + start, n)
        many += sum(tag != 0 for tag in tags)
        tagged += len(set(tags) - {0})
    assert many > 5000 and tagged > 100


@pytest.mark.parametrize("direction", [-1, 1])
def test_moves_within_a_block_keep_them(sh: Any, ts: Any, direction: int) -> None:
    rng = random.Random(12)
    some = Bytes(sh, ts, rng)
    for _ in range(200):
        size, by = rng.choice((100, 256, 700)), 4 * rng.randrange(1, 20)
        block = some.block(size)
        some.scatter(block, size)
        n = rng.randrange(1, size - by + 1)
        start = rng.randrange(0, size - by - n + 1)
        low, high = block + start, block + start + by
        some.copied(*((high, low) if direction > 0 else (low, high)), n)
