"""The replaced heap: blocks, red zones, quarantine, errors, tables for Python."""

from __future__ import annotations

import ctypes
import os
import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from shadow.hosted import larger_than_ever, own_part

ANY = (1 << 64) - 1


def malloc(sh: Any, size: int, kind: int = 0) -> int:
    return int(sh.request(sh.lib.IP_HR_MALLOC, size, kind))


def free(sh: Any, addr: int, kind: int = 0) -> None:
    sh.request(sh.lib.IP_HR_FREE, addr, kind, ANY, ANY)


def kinds(sh: Any) -> list[int]:
    return [e.kind for e in sh.errors()]


def test_block_shadow_through_its_life(sh: Any) -> None:
    for size in (1, 8, 13, 100, 5000, 40000, 3 << 20):
        p = malloc(sh, size)
        assert p % 16 == 0
        assert sh.a(p - 16, 16) == "1" * 16
        assert "1" not in sh.a(p, min(size, 5000))
        assert sh.a(p + size, 16) == "1" * 16
        assert set(sh.v(p - 16, size + 32)) == {0xFF}
        free(sh, p)
        assert set(sh.v(p - 16, size + 32)) == {0xFF}
        assert "0" not in sh.a(p, min(size, 5000))
    assert not sh.errors()


def test_calloc_is_zero_and_defined(sh: Any) -> None:
    for size in (1, 3, 5, 8, 24, 77, 300, 70000):
        for _ in range(3):
            p = sh.request(sh.lib.IP_HR_CALLOC, 3, size)
            assert sh.mem(p, 3 * size)[:] == bytes(3 * size)
            assert sh.v(p - 16, 3 * size + 32) == b"\xff" * 16 + bytes(3 * size) + b"\xff" * 16
            assert sh.a(p - 16, 3 * size + 32)[:16] == sh.a(p + 3 * size, 16) == "1" * 16
            assert "1" not in sh.a(p, min(3 * size, 5000))
            sh.mem(p, 3 * size)[:] = b"x" * (3 * size)
            free(sh, p)
    assert sh.request(sh.lib.IP_HR_CALLOC, 1 << 40, 1 << 40) == 0


@pytest.fixture
def no_quarantine(sh: Any) -> Iterator[Any]:
    chan = sh.lib.t_chan()
    chan.freelist_vol = 0
    yield sh
    chan.freelist_vol = 20000000


def test_a_large_block_comes_again(no_quarantine: Any) -> None:
    """Memory of blocks with pages of their own is kept for the next one, which sees nothing of it."""
    sh = no_quarantine
    before: set[int] = set()
    again = 0
    for turn in range(60):
        size = (33_000, 70_000, 200_000)[turn % 3]
        if turn % 2:
            p = sh.request(sh.lib.IP_HR_CALLOC, 1, size)
            assert sh.v(p - 16, size + 32) == b"\xff" * 16 + bytes(size) + b"\xff" * 16
            assert sh.mem(p, size)[:] == bytes(size)
        else:
            p = malloc(sh, size)
            assert sh.v(p - 16, size + 32) == b"\xff" * (size + 32)
        assert sh.a(p - 16, 4096) == "1" * 16 + "0" * 4080
        assert sh.a(p + size - 4080, 4096) == "0" * 4080 + "1" * 16
        again += p in before
        before.add(p)
        sh.ffi.memmove(sh.ffi.cast("char *", p + sh.lib.IP_V_CONST), bytes(size), size)
        sh.mem(p, size)[:] = b"x" * size
        free(sh, p)
        assert sh.v(p, size) == b"\xff" * size
        assert sh.a(p, 4096) == sh.a(p + size - 4096, 4096) == "1" * 4096
    assert again > 40
    assert not sh.errors()


def resident(addr: int, size: int) -> int:
    """How many of a range's pages are there (mincore(2))."""
    lo = addr & -4096
    pages = (addr + size - lo + 4095) // 4096
    there = (ctypes.c_ubyte * pages)()
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mincore(ctypes.c_void_p(lo), ctypes.c_size_t(pages * 4096), there) == 0
    return sum(page & 1 for page in there)


def test_blocks_of_other_sizes_take_what_was_given_back(no_quarantine: Any) -> None:
    """Two that lie side by side serve a larger one, and a part of what is there a smaller one."""
    sh = no_quarantine
    many = sorted(malloc(sh, 60_000) for _ in range(150))  # more than what earlier ones have left
    pairs = [p for p, q in pairwise(many) if q - p == 65_536]
    first, second = pairs[-1], pairs[-1] + 65_536
    for p in (first, second):
        sh.mem(p, 60_000)[:] = b"x" * 60_000
        free(sh, p)
    small = malloc(sh, 10)  # what was freed last is known until then
    large = malloc(sh, 120_000)
    assert large == first and resident(large, 120_000) >= 28
    free(sh, large)
    free(sh, small)
    part = malloc(sh, 50_000)
    assert part == first and resident(part, 50_000) >= 12
    assert sh.v(part, 50_000) == b"\xff" * 50_000
    rest = sh.request(sh.lib.IP_HR_CALLOC, 1, 60_000)
    assert rest == second and sh.mem(rest, 60_000)[:] == bytes(60_000)
    for p in many:
        free(sh, p)
    assert not sh.errors()


def test_what_is_kept_has_a_bound(no_quarantine: Any) -> None:
    sh = no_quarantine
    blocks = [malloc(sh, 900_000) for _ in range(20)]
    for p in blocks:
        sh.mem(p, 900_000)[:] = b"x" * 900_000
    for p in blocks:
        free(sh, p)
    free(sh, malloc(sh, 10))
    there = sum(resident(p, 900_000) for p in blocks)
    assert 900_000 / 4096 < there <= (4 << 20) / 4096
    assert not sh.errors()


def test_realloc_moves_bytes_and_bits(sh: Any) -> None:
    p = malloc(sh, 40)
    sh.mem(p, 40)[:] = bytes(range(40))
    sh.lib.rt_shadow_set(p, 10, 0)
    q = sh.request(sh.lib.IP_HR_REALLOC, p, 100)
    assert q != p
    assert sh.mem(q, 40)[:] == bytes(range(40))
    assert sh.v(q, 100) == bytes(10) + b"\xff" * 90
    assert sh.a(p, 40) == "1" * 40
    r = sh.request(sh.lib.IP_HR_REALLOC, q, 7)
    assert sh.mem(r, 7)[:] == bytes(range(7)) and sh.v(r, 8) == bytes(7) + b"\xff"
    assert not sh.errors()
    assert sh.request(sh.lib.IP_HR_REALLOC, r, 0) == 0
    assert kinds(sh) == [sh.lib.IP_E_REALLOC_ZERO]


def assert_only(sh: Any, kept: list[int], blocks: list[int]) -> None:
    """Of blocks of 3,000 bytes, which were defined, these are; the others are nobody's."""
    for p in blocks:
        if p in kept:
            assert sh.v(p, 3000) == bytes(3000) and "1" not in sh.a(p, 3000)
        else:
            assert sh.v(p, 3000) == b"\xff" * 3000 and "0" not in sh.a(p, 3000)


def test_growth_gives_back_what_is_nobodys(sh: Any) -> None:
    """A heap that becomes larger than ever gives back V bytes of freed blocks, and of no others."""
    blocks = [malloc(sh, 3000 + n % 7 * 100) for n in range(3000)]
    for p in blocks:
        sh.lib.rt_shadow_set(p, 3000, 0)
    kept = blocks[::50]
    for p in set(blocks) - set(kept):
        free(sh, p)
    free(sh, malloc(sh, larger_than_ever()))
    assert own_part(sh, blocks) < 0.25
    assert_only(sh, kept, blocks)
    for p in set(blocks) - set(kept):
        sh.ffi.memmove(sh.ffi.cast("char *", p + sh.lib.IP_V_CONST), b"\xff" * 3000, 3000)
    free(sh, malloc(sh, larger_than_ever()))
    assert own_part(sh, blocks) > 0.5, "spans where nothing was freed are not looked at again"
    for p in kept:
        free(sh, p)
    free(sh, malloc(sh, larger_than_ever()))
    assert own_part(sh, blocks) < 0.5
    assert not sh.errors()


def test_many_frees_give_back_what_is_nobodys(sh: Any) -> None:
    """Blocks that wait in the quarantine cost no V bytes, though the heap does not grow."""
    blocks = [malloc(sh, 3000) for _ in range(6000)]
    for p in blocks:
        sh.lib.rt_shadow_set(p, 3000, 0)
    kept = blocks[::50]
    assert own_part(sh, blocks) > 0.9
    for p in set(blocks) - set(kept):
        free(sh, p)
    assert own_part(sh, blocks) < 0.5
    assert_only(sh, kept, blocks)
    for p in kept:
        free(sh, p)
    assert not sh.errors()


def test_memalign(sh: Any) -> None:
    lib = sh.lib
    for align in (32, 64, 4096, 1 << 20):
        p = sh.request(lib.IP_HR_MEMALIGN, align, 100, lib.IP_AK_MALLOC, lib.IP_AH_POSIX)
        assert p % align == 0
        assert sh.a(p - 16, 16 + 100 + 16) == "1" * 16 + "0" * 100 + "1" * 16
        free(sh, p)
    assert not sh.errors()
    assert sh.request(lib.IP_HR_MEMALIGN, 24, 100, lib.IP_AK_MALLOC, lib.IP_AH_POSIX) == 1
    assert kinds(sh) == [lib.IP_E_ALIGN]


def test_wrong_frees(sh: Any) -> None:
    lib = sh.lib
    p = malloc(sh, 20)
    free(sh, p + 4)
    assert kinds(sh) == [lib.IP_E_FREE]
    error = sh.errors()[0]
    assert error.addr == p + 4 and lib.t_block(error.aux[2]).addr == p
    sh.ts.pc += 1
    free(sh, p, lib.IP_AK_NEW)
    assert kinds(sh) == [lib.IP_E_FREE, lib.IP_E_MISMATCH]
    sh.ts.pc += 1
    free(sh, p)  # a double free
    assert kinds(sh)[2:] == [lib.IP_E_FREE]
    assert lib.t_block(sh.errors()[2].aux[2]).state == lib.IP_HB_QUARANTINE
    free(sh, 0)
    assert len(kinds(sh)) == 3


def test_fishy_sizes(sh: Any) -> None:
    name = sh.ffi.new("char[]", b"malloc")
    at = int(sh.ffi.cast("uintptr_t", name))
    assert sh.request(sh.lib.IP_HR_MALLOC, ANY, 0, at) == 0
    (error,) = sh.errors()
    assert error.kind == sh.lib.IP_E_FISHY and error.aux[0] == ANY
    assert bytes(sh.ffi.buffer(error.text, 12)) == b"malloc(size)"


def test_quarantine_keeps_blocks_and_big_ones_leave_first(sh: Any) -> None:
    chan = sh.lib.t_chan()
    chan.freelist_vol, chan.freelist_big = 10000, 4000
    try:
        small = [malloc(sh, 1000) for _ in range(5)]
        big = malloc(sh, 5000)
        for p in small:
            free(sh, p)
        free(sh, big)  # 10000 bytes wait
        assert malloc(sh, 1000) not in small
        free(sh, malloc(sh, 1000))  # one too many: the big block goes
        i = sh.lib.heap_describe(small[0])
        assert sh.lib.t_block(i).state == sh.lib.IP_HB_QUARANTINE
        assert malloc(sh, 5000) == big
        for _ in range(20):
            free(sh, malloc(sh, 1000))
        assert sh.lib.t_block(i).state in (sh.lib.IP_HB_FREE, sh.lib.IP_HB_LIVE, sh.lib.IP_HB_QUARANTINE)
        table = sh.ffi.cast("struct ip_heap_table *", chan.rt_symbols[sh.lib.IP_SYM_HEAP_TABLE])
        malloc(sh, 8)  # an allocation makes what is too much leave
        assert table.quarantine_bytes <= 10000
        free(sh, big)
        chan.freelist_vol = 0
        last = malloc(sh, 8)
        free(sh, last)  # known until the next allocation
        assert sh.lib.t_block(sh.lib.heap_describe(last)).state == sh.lib.IP_HB_QUARANTINE
        malloc(sh, 100000)
        assert table.quarantine_bytes == 0
    finally:
        chan.freelist_vol, chan.freelist_big = 20000000, 1000000


def test_describe_finds_the_nearest_block(sh: Any) -> None:
    p, q = malloc(sh, 40), malloc(sh, 40)
    for at, want in ((p, p), (p + 39, p), (p + 40, p), (p - 1, p), (q - 1, q), (q + 41, q)):
        assert sh.lib.t_block(sh.lib.heap_describe(at)).addr == want
    big = malloc(sh, 100000)
    assert sh.lib.t_block(sh.lib.heap_describe(big + 100003)).addr == big
    assert sh.lib.heap_describe(0x1234) == 0


def test_tables_agree_with_a_model(sh: Any) -> None:
    """Random mallocs and frees; afterwards the exported table holds exactly the live blocks."""
    rng = random.Random(3)
    lib, ffi = sh.lib, sh.ffi
    chan = lib.t_chan()
    chan.freelist_vol = 50000
    table = None
    live: dict[int, int] = {}
    before: set[int] = set()

    def exported() -> dict[int, int]:
        found = {}
        for i in range(1, table.n_blocks):
            chunk = ffi.cast("struct ip_heap_block *", table.chunks[i // lib.IP_HEAP_CHUNK])
            if chunk == ffi.NULL:
                continue
            b = chunk[i % lib.IP_HEAP_CHUNK]
            if b.state == lib.IP_HB_LIVE:
                found[int(b.addr)] = int(b.size)
        return found

    try:
        malloc(sh, 1)
        table = ffi.cast("struct ip_heap_table *", chan.rt_symbols[lib.IP_SYM_HEAP_TABLE])
        before = set(exported())
        for _ in range(5000):
            if live and rng.random() < 0.5:
                p = rng.choice(list(live))
                assert sh.mem(p, min(live[p], 8))[:] == p.to_bytes(8, "little")[: live[p]]
                free(sh, p)
                del live[p]
            else:
                size = rng.choice((rng.randrange(1, 300), rng.randrange(1, 5000), rng.randrange(1, 200000)))
                p = malloc(sh, size)
                assert not any(a < p + size and p < a + n for a, n in live.items())
                live[p] = size
                sh.mem(p, min(size, 8))[:] = p.to_bytes(8, "little")[:size]
        now = exported()
        assert {a: n for a, n in now.items() if a not in before} == live
        assert table.live_bytes == sum(now.values()) and table.live_blocks == len(now)
        arenas = [(table.arena_lo[i], table.arena_hi[i]) for i in range(table.n_arenas)]
        assert all(any(lo <= a < hi for lo, hi in arenas) for a in live)
        assert not sh.errors()
    finally:
        chan.freelist_vol = 20000000


def test_memory_of_one_size_serves_others_later(sh: Any) -> None:
    """A program whose sizes change keeps memory, and records, for what it has, not for all it ever had."""
    chan = sh.lib.t_chan()
    chan.freelist_vol = 50000
    rng = random.Random(5)
    try:
        malloc(sh, 1)
        table = sh.ffi.cast("struct ip_heap_table *", chan.rt_symbols[sh.lib.IP_SYM_HEAP_TABLE])

        def held() -> int:
            return sum(table.arena_hi[i] - table.arena_lo[i] for i in range(table.n_arenas))

        first, records, most = held(), table.n_blocks, 0
        for size in range(40, 3000, 97):
            blocks = [malloc(sh, size) for _ in range(2000000 // size)]
            most = max(most, len(blocks))
            assert len(set(blocks)) == len(blocks)
            for p in blocks:
                sh.mem(p, size)[:8] = p.to_bytes(8, "little")
            rng.shuffle(blocks)
            for p in blocks:
                assert sh.mem(p, size)[:8] == p.to_bytes(8, "little")
                free(sh, p)
        assert held() - first <= 20 << 20  # 31 sizes of 2 MB each
        assert table.n_blocks - records < 3 * most
        assert not sh.errors()
    finally:
        chan.freelist_vol = 20000000


def asks_for_huge_pages(addr: int) -> bool:
    """What the kernel has noted of the mapping there."""
    inside = False
    with open("/proc/self/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                low, high = (int(word, 16) for word in words[0].split("-"))
                inside = low <= addr < high
            elif inside and words[0] == "VmFlags:":
                return "hg" in words
    raise AssertionError(f"nothing is mapped at {addr:#x}")


@pytest.mark.skipif(
    not os.path.exists("/sys/kernel/mm/transparent_hugepage"), reason="this kernel has no huge pages"
)
def test_large_blocks_ask_for_huge_pages(sh: Any) -> None:
    """As long as they live, and not all of a program's memory."""
    chan = sh.lib.t_chan()
    chan.freelist_vol = 0
    try:
        small, large = malloc(sh, 3 << 20), malloc(sh, 8 << 20)
        assert (asks_for_huge_pages(small), asks_for_huge_pages(large)) == (False, True)
        sh.mem(large, 8 << 20)[: 4 << 20] = b"x" * (4 << 20)
        free(sh, large)
        malloc(sh, 1)  # what is in the quarantine leaves it
        assert not asks_for_huge_pages(large)
        again = sh.request(sh.lib.IP_HR_CALLOC, 1, 8 << 20)
        assert again == large and sh.mem(again, 8 << 20)[:] == bytes(8 << 20)
        many = [malloc(sh, 64 << 20) for _ in range(8)]
        assert sum(map(asks_for_huge_pages, many)) in (2, 3)
        for p in (small, again, *many):
            free(sh, p)
        assert not sh.errors()
    finally:
        chan.freelist_vol = 20000000


def test_contexts_are_recorded_once(sh: Any) -> None:
    lib, ffi, ts = sh.lib, sh.ffi, sh.ts
    lib.t_call(ts, 0xAAAA)
    lib.t_call(ts, 0xBBBB)
    ctx = [lib.t_block(lib.heap_describe(malloc(sh, 10))).alloc_ctx for _ in range(3)]
    assert len(set(ctx)) == 1
    table = ffi.cast("struct ip_ctx_table *", lib.t_chan().rt_symbols[lib.IP_SYM_CTX_TABLE])
    chunk, word = divmod(ctx[0], lib.IP_CTX_CHUNK_WORDS)
    words = ffi.cast("uint64_t *", table.chunks[chunk]) + word
    assert words[0] & 0xFFFFFFFF == 3
    assert [words[i] for i in (1, 2, 3)] == [ts.pc, 0xBBBB, 0xAAAA]
    ts.pc += 4
    assert lib.t_block(lib.heap_describe(malloc(sh, 10))).alloc_ctx != ctx[0]


def test_a_stack_is_recognised_as_it_was_recorded(sh: Any) -> None:
    """Random stacks, with entries that are left, overwritten or out of order: the guess is right where
    the whole trace is that stack, and only there."""
    lib, ffi, ts = sh.lib, sh.ffi, sh.ts
    rng, chan = random.Random(11), lib.t_chan()
    entries = ffi.cast("struct ip_csent *", ts.cs_base)
    frames, top, sp, callers = ffi.new("uint64_t[512]"), ts.cs_top, ts.gpr[lib.IP_RSP], chan.num_callers
    numbers: dict[tuple[int, ...], int] = {}
    again = others = 0

    def trace() -> tuple[int, ...]:
        return tuple(ffi.unpack(frames, lib.rt_stack_trace(ts, frames, chan.num_callers)))

    try:
        for _ in range(400):
            chan.num_callers = rng.choice((1, 4, 12, 12))
            for _ in range(rng.randrange(3)):
                lib.t_call(ts, 0x1000 + rng.randrange(3))
            depth = (ts.cs_top - ts.cs_base) // ffi.sizeof("struct ip_csent")
            for _ in range(rng.randrange(3) if depth else 0):
                e = entries[rng.randrange(1, depth + 1)]
                what = rng.randrange(6)
                if what == 0:  # its frame was left, and the place is used for something else
                    sh.mem(e.above - 8, 8)[:] = rng.choice((0, 5, e.retaddr)).to_bytes(8, "little")
                elif what == 1:
                    e.retaddr = rng.choice((0, 0x1000, 0x1001))
                elif what == 2:
                    ts.gpr[lib.IP_RSP] = e.above  # longjmp
                elif what == 3:
                    ts.cs_top -= ffi.sizeof("struct ip_csent") * rng.randrange(depth)
                    depth = (ts.cs_top - ts.cs_base) // ffi.sizeof("struct ip_csent")
                    if not depth:
                        break
            whole = trace()
            number = lib.heap_ctx_now(ts)
            assert numbers.setdefault(whole, number) == number
            for old in numbers:
                words = ffi.new("uint64_t[]", old)
                same = lib.rt_stack_is(ts, words, len(old), chan.num_callers)
                assert same == (old == whole)
            again += number == lib.heap_ctx_now(ts)
            others += len(numbers)
            if depth > 30:
                ts.cs_top, ts.gpr[lib.IP_RSP] = top, sp
        assert again == 400 and len(numbers) > 50 and others > 10000
        chan.merge_frames = 1
        words = ffi.new("uint64_t[]", trace())
        assert not lib.rt_stack_is(ts, words, len(words), chan.num_callers)  # then the whole way decides
    finally:
        chan.merge_frames, chan.num_callers = 0, callers
        ts.cs_top, ts.gpr[lib.IP_RSP] = top, sp


def test_stacks_of_a_recursion_have_hashes_of_their_own(sh: Any) -> None:
    """A function that calls itself at two places: as often left as right is no reason to be alike."""
    lib, ffi = sh.lib, sh.ffi
    numbers = [
        lib.heap_ctx([0x401020 + 0x15 * (way >> depth & 1) for depth in range(12)], 12) for way in range(4096)
    ]
    table = ffi.cast("struct ip_ctx_table *", lib.t_chan().rt_symbols[lib.IP_SYM_CTX_TABLE])
    hashes = set()
    for number in numbers:
        chunk = ffi.cast("uint64_t *", table.chunks[number // lib.IP_CTX_CHUNK_WORDS])
        word = chunk[number % lib.IP_CTX_CHUNK_WORDS]
        assert word & 0xFFFFFFFF == 12
        hashes.add(word >> 32)
    assert len(set(numbers)) == len(hashes) == 4096


def test_the_block_given_back_last_is_given_next(no_quarantine: Any) -> None:
    """The one out of the quarantine has its record in the caches."""
    sh = no_quarantine
    blocks = [malloc(sh, 300) for _ in range(1000)]
    for p in blocks[5], blocks[900], blocks[444]:
        free(sh, p)
        assert malloc(sh, 300) == p


def test_larger_blocks_are_given_from_below(no_quarantine: Any) -> None:
    """So that spans further up become empty, and their memory the system's."""
    sh = no_quarantine
    blocks = sorted(malloc(sh, 700) for _ in range(2000))
    for p in (blocks[1100], blocks[1500], blocks[200], blocks[1900], blocks[201]):
        free(sh, p)
    malloc(sh, 0)  # they leave the quarantine
    assert {malloc(sh, 700), malloc(sh, 700)} == {blocks[200], blocks[201]}
    assert {malloc(sh, 700) for _ in range(3)} == {blocks[1100], blocks[1500], blocks[1900]}


def test_client_defined_blocks(sh: Any) -> None:
    lib = sh.lib
    base = sh.new_map(4096)
    lib.rt_heap_malloclike(sh.ts, base + 64, 100, 0, False)
    assert set(sh.v(base + 64, 100)) == {0xFF} and "1" not in sh.a(base + 64, 100)
    assert lib.t_block(lib.heap_describe(base + 70)).addr == base + 64
    assert lib.rt_heap_resize(sh.ts, base + 64, 100, 50, 0)
    assert sh.a(base + 64, 100) == "0" * 50 + "1" * 50
    assert lib.rt_heap_freelike(sh.ts, base + 64, 0)
    assert not sh.errors()
    assert not lib.rt_heap_freelike(sh.ts, base + 64, 0)
    assert kinds(sh) == [lib.IP_E_FREE]


def test_bulk_copy_and_fill(sh: Any) -> None:
    lib = sh.lib
    p, q = malloc(sh, 200), malloc(sh, 200)
    sh.mem(p, 200)[:] = bytes(range(200))
    lib.rt_shadow_set(p + 50, 100, 0)
    assert sh.request(lib.IP_HR_COPY, q, p, 200) == 1
    assert sh.mem(q, 200)[:] == bytes(range(200))
    assert sh.v(q, 200) == b"\xff" * 50 + bytes(100) + b"\xff" * 50
    assert sh.request(lib.IP_HR_COPY, q + 30, q, 170) == 1  # overlapping, like memmove
    assert sh.mem(q + 30, 170)[:] == bytes(range(170))
    assert sh.v(q + 30, 170) == b"\xff" * 50 + bytes(100) + b"\xff" * 20
    byte = malloc(sh, 1)
    sh.mem(byte, 1)[:] = b"A"
    sh.lib.rt_shadow_set(byte, 1, 0)
    assert sh.request(lib.IP_HR_FILL, q, byte, 200) == 1
    assert sh.mem(q, 200)[:] == b"A" * 200 and sh.v(q, 200) == bytes(200)
    sh.lib.rt_shadow_set(byte, 1, 1)
    assert sh.request(lib.IP_HR_FILL, q, byte, 10) == 1
    assert sh.v(q, 200) == b"\xff" * 10 + bytes(190)
    # Not all addressable: nothing is done, the stub checks byte by byte.
    assert sh.request(lib.IP_HR_FILL, q, byte, 208) == 0
    assert sh.request(lib.IP_HR_COPY, q, p, 208) == 0
    assert sh.request(lib.IP_HR_COPY, 0x1000, p, 200) == 0
    assert not sh.errors()


def test_runs_without_a_byte_match_a_model(sh: Any) -> None:
    rng = random.Random(3)
    size = 3 * 4096
    base = sh.new_map(size)
    for _ in range(300):
        data = bytearray(b"a" * size)
        for _ in range(rng.randrange(4)):
            data[rng.randrange(size)] = rng.choice((0, 0x80, 0x81, 1, ord("b")))
        sh.mem(base, size)[:] = bytes(data)
        sh.lib.rt_shadow_set(base, size, 0)
        at, n = rng.randrange(size), rng.choice((ANY, rng.randrange(300), rng.randrange(size)))
        byte = rng.choice((0, ord("b"), 0x80, 0x81, 1))
        bad = rng.choice((size, rng.randrange(at, size)))
        if bad < size:
            sh.lib.rt_shadow_set(base + bad, 1, rng.choice((1, 2)))
        ends = [bad, *(i for i in range(at, size) if data[i] == byte), min(size, at + n)]
        assert sh.request(sh.lib.IP_HR_PLAIN, base + at, n, byte) == min(ends) - at
    assert sh.request(sh.lib.IP_HR_PLAIN, 0x1000, 100, 0) == 0
    assert sh.request(sh.lib.IP_HR_PLAIN, ANY - 5, ANY, 0) == 0
    assert not sh.errors()


def test_a_block_filled_in_part_is_all_ones_when_it_goes(sh: Any) -> None:
    for size in (20000, 50000, 300000):
        for lo, hi in ((0, size), (0, 0), (8, 9), (4096, 9000), (size - 9, size), (size // 2, size)):
            p = malloc(sh, size)
            sh.lib.rt_shadow_set(p + lo, hi - lo, 0)
            free(sh, p)
            assert set(sh.v(p - 16, size + 32)) == {0xFF}
            assert "0" not in sh.a(p, size)


def test_out_of_memory_is_a_null_pointer(sh: Any) -> None:
    sh.lib.t_maps_fail = 1
    try:
        assert malloc(sh, 1 << 40) == 0
    finally:
        sh.lib.t_maps_fail = 0
