"""V and A bits of mappings: borders, release, moves, stacks and slow paths."""

from __future__ import annotations

import os
import random
import traceback
from pathlib import Path
from typing import Any

DEFINED, UNDEFINED, NOACCESS = range(3)
PAGE = 4096


def read_error(sh: Any) -> list[tuple[int, int, int]]:
    return [(e.kind, e.addr, e.size) for e in sh.errors()]


def test_neighbours_keep_their_border_bytes(sh: Any) -> None:
    base = 0x0000_0200_0000_0000
    for i in range(4):
        assert sh.lib.t_map_at(base + i * PAGE, PAGE)
    sh.lib.rt_shadow_mapped(base + PAGE, PAGE, DEFINED)
    assert sh.v(base + PAGE - 1, 1) == b"\xff"  # nobody's yet
    assert sh.a(base + PAGE - 8, 8) == "1" * 8
    sh.lib.rt_shadow_mapped(base, PAGE, UNDEFINED)
    sh.lib.rt_shadow_mapped(base + 2 * PAGE, PAGE, NOACCESS)
    assert sh.v(base, PAGE) == b"\xff" * PAGE
    assert sh.v(base + PAGE, PAGE) == bytes(PAGE)
    assert sh.v(base + 2 * PAGE, PAGE) == b"\xff" * PAGE
    assert (sh.a(base, PAGE), sh.a(base + PAGE, PAGE), sh.a(base + 2 * PAGE, PAGE)) == (
        "0" * PAGE, "0" * PAGE, "1" * PAGE,
    )  # fmt: skip
    sh.lib.rt_shadow_unmapped(base, PAGE)
    sh.lib.rt_shadow_unmapped(base + 2 * PAGE, PAGE)
    assert sh.v(base + PAGE, PAGE) == bytes(PAGE)
    assert sh.first_unaddr(base + PAGE - 3, 8) == base + PAGE - 3
    assert sh.first_unaddr(base + PAGE, PAGE) == 0
    assert sh.first_unaddr(base + PAGE, PAGE + 1) == base + 2 * PAGE


def test_large_ranges_of_each_state_and_release(sh: Any) -> None:
    base, size = 0x0000_0210_0000_0000, 64 << 20
    assert sh.lib.t_map_at(base, size)
    for state in (NOACCESS, DEFINED, UNDEFINED):
        sh.lib.rt_shadow_mapped(base, size, state)
        want_v = 0 if state == DEFINED else 0xFF
        for at in (0, 1, PAGE, size // 2 + 3, size - 1):
            assert sh.v(base + at, 1)[0] == want_v
        assert sh.first_unaddr(base, size) == (base if state == NOACCESS else 0)
    sh.lib.rt_shadow_unmapped(base, size)
    assert sh.first_unaddr(base + size // 2, 1) == base + size // 2
    sh.lib.rt_shadow_mapped(base, size, DEFINED)
    assert sh.first_undef(base, size) == 0


def _mappings() -> int:
    return Path("/proc/self/maps").read_bytes().count(b"\n")


def _map_much(sh: Any) -> None:
    base, size, count = 0x0000_0300_0000_0000, 4 << 30, 40
    before = _mappings()  # a worker has hundreds, and what other tests left
    for i in range(count):
        sh.lib.rt_shadow_mapped(base + i * size, size, UNDEFINED if i % 8 else NOACCESS)
    assert _mappings() - before < 25_000
    for i in range(count):
        for at in (0, size // 2 - 1, size - 1):
            assert sh.v(base + i * size + at, 1) == b"\xff"
        assert sh.first_unaddr(base + i * size, 8) == (0 if i % 8 else base + i * size)


def test_undefined_memory_without_end_leaves_mappings_to_the_program(sh: Any) -> None:
    """In pieces of 2 MiB these would be 90,000 mappings; the kernel allows 65,530 as a rule."""
    pid = os.fork()  # what other tests see of the library's mappings stays as it was
    if pid == 0:
        try:
            _map_much(sh)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0


def test_set_any_alignment_matches_a_model(sh: Any) -> None:
    rng = random.Random(1)
    size = 4 * PAGE
    base = sh.new_map(size)
    model = [DEFINED] * size
    for _ in range(400):
        at = rng.randrange(size)
        n = rng.choice((rng.randrange(1, 20), rng.randrange(1, 700), rng.randrange(1, size)))
        n = min(n, size - at)
        state = rng.randrange(3)
        sh.lib.rt_shadow_set(base + at, n, state)
        model[at : at + n] = [state] * n
        assert sh.v(base, size) == bytes(0 if s == DEFINED else 0xFF for s in model)
        assert sh.a(base, size) == "".join("1" if s == NOACCESS else "0" for s in model)
        lo = rng.randrange(size)
        undef = next((base + i for i in range(lo, size) if model[i] != DEFINED), 0)
        unaddr = next((base + i for i in range(lo, size) if model[i] == NOACCESS), 0)
        assert sh.first_undef(base + lo, size - lo) == undef
        assert sh.first_unaddr(base + lo, size - lo) == unaddr
        only = next((base + i for i in range(lo, size) if model[i] == UNDEFINED), 0)
        assert sh.first_undef_only(base + lo, size - lo) == only


def test_ranges_beyond_the_end_of_addresses(sh: Any) -> None:
    top, client_end = 1 << 64, sh.lib.IP_CLIENT_END
    base = sh.new_map(PAGE)
    assert sh.first_unaddr(base, top - base) == base + PAGE
    assert sh.first_unaddr(base + 5, top - 1) == base + PAGE  # wraps around
    assert sh.first_undef(base, top - 1) == base + PAGE
    for addr in (client_end, 1 << 47, top - 1):
        assert sh.first_unaddr(addr, 1) == sh.first_unaddr(addr, top - 1) == addr
        assert sh.first_unaddr(addr, 0) == sh.first_undef(addr, 0) == sh.first_undef_only(addr, top - 1) == 0


def test_set_over_unmapped_memory_survives(sh: Any) -> None:
    base = sh.new_map(PAGE)
    sh.lib.rt_shadow_set(base - (1 << 20), 2 << 20, UNDEFINED)
    assert sh.v(base, PAGE) == b"\xff" * PAGE
    assert sh.first_unaddr(base, PAGE) == 0


def test_moved_keeps_bits(sh: Any) -> None:
    for size in (PAGE, 5 * PAGE, 8 << 20):
        a, b = sh.new_map(size), sh.new_map(size)
        sh.lib.rt_shadow_set(a + 5, 100, UNDEFINED)
        sh.lib.rt_shadow_set(a + size - 9, 7, NOACCESS)
        before = sh.v(a, PAGE), sh.v(a + size - PAGE, PAGE), sh.a(a, 200), sh.a(a + size - 64, 64)
        sh.lib.rt_shadow_moved(a, b, size)
        assert before == (sh.v(b, PAGE), sh.v(b + size - PAGE, PAGE), sh.a(b, 200), sh.a(b + size - 64, 64))
        assert sh.first_unaddr(a + 100, 1) == a + 100


def addresses_only(sh: Any) -> None:
    """As with --undef-value-errors=no: what a check of clean code finds is reported at once."""
    sh.lib.t_init(sh.lib.IP_C_SHADOW | sh.lib.IP_C_HEAP)


def test_load_slow(sh: Any) -> None:
    lib, ts = sh.lib, sh.ts
    base = sh.new_map(PAGE)

    def load(addr: int, n: int) -> bool:
        ts.acc_addr, ts.acc_info = addr, n
        return bool(lib.rt_load_slow(ts))

    lib.rt_shadow_set(base + 16, 16, UNDEFINED)
    lib.rt_shadow_set(base + 40, 8, NOACCESS)
    accesses = [(0, 8), (12, 8), (40, 8), (36, 8), (32, 32), (44, 4)]
    assert [load(base + at, n) for at, n in accesses] == [True] + 5 * [False]
    assert not load(0x0000_0E00_0000_0000, 4)
    assert not sh.errors()  # the tracking translation has them all
    addresses_only(sh)
    assert load(base, 8) and load(base + 12, 8)
    assert not sh.errors()
    assert load(base + 40, 8)
    assert read_error(sh) == [(lib.IP_E_READ, base + 40, 8)]
    assert load(base + 40, 8)
    assert lib.t_n_errors == 1  # the same error only counts
    ts.pc += 1
    assert load(base + 36, 8) and lib.t_n_errors == 2  # not aligned to its size
    ts.pc += 1
    assert load(base + 32, 32) and lib.t_n_errors == 2  # partly in, aligned
    assert load(base + 44, 4) and lib.t_n_errors == 3  # no byte of it is addressable
    assert load(0x0000_0E00_0000_0000, 4) and lib.t_n_errors == 3  # same pc, kind and size


def test_store_slow(sh: Any) -> None:
    lib, ts = sh.lib, sh.ts
    base = sh.new_map(PAGE)
    lib.rt_shadow_set(base, 64, UNDEFINED)
    lib.rt_shadow_set(base + 8, 8, NOACCESS)

    def store(addr: int, n: int) -> bool:
        ts.acc_addr, ts.acc_info = addr, n | 1 << 16
        return bool(lib.rt_store_slow(ts))

    assert store(base + 16, 4)
    assert sh.v(base + 16, 5) == b"\0\0\0\0\xff" and not sh.errors()
    assert not store(base + 4, 8)
    assert sh.v(base, 16) == b"\xff" * 16 and not sh.errors()
    addresses_only(sh)
    assert store(base + 4, 8)
    assert read_error(sh) == [(lib.IP_E_WRITE, base + 4, 8)]
    assert sh.v(base, 16) == b"\xff" * 4 + bytes(4) + b"\xff" * 8


def test_stack_is_addressable_down_to_the_red_zone(sh: Any) -> None:
    lib, ts = sh.lib, sh.ts
    sp = ts.gpr[lib.IP_RSP]
    ts.acc_info = 8
    for at, addressable in ((sp - 8, True), (sp - 128, True), (sp - 136, False)):
        ts.acc_addr = at
        assert bool(lib.rt_store_slow(ts)) == addressable
    assert ts.stack_lo == sh.stack[0] and ts.stack_hi == sh.stack[1]


def test_a_range_reaches_below_the_red_zone(sh: Any) -> None:
    lib, ts = sh.lib, sh.ts
    sp = ts.gpr[lib.IP_RSP]
    ts.acc_info, ts.acc_addr = 8, sp
    assert lib.rt_store_slow(ts)  # looks for the stack
    lib.rt_shadow_set(sp - 9000, 9500, UNDEFINED)
    for lo, n in ((sp - 129, 400), (sp - 500, 700), (sp - 8900, 9200), (sp - 8900, 200)):
        assert sh.first_unaddr(lo, n) == lo
        lib.rt_shadow_set(lo, 7, DEFINED)
        assert sh.first_unaddr(lo, n) == (lo + 7 if lo + 7 < sp - 128 else 0)
        lib.rt_shadow_set(lo, 7, UNDEFINED)
    for lo, n in ((sp - 128, 300), (sp, 480), (sp - 100, 8)):
        assert sh.first_unaddr(lo, n) == 0


def test_stack_pointer_changes(sh: Any) -> None:
    lib, ts = sh.lib, sh.ts
    sp = ts.gpr[lib.IP_RSP]
    lib.rt_shadow_set(sp - 256, 512, DEFINED)
    lib.rt_stack_changed(ts, sp, sp - 100)  # growing marks nothing
    assert sh.v(sp - 100, 100) == bytes(100)
    lib.rt_stack_changed(ts, sp, sp + 64)  # given back, and the dirty red zone
    assert sh.v(sp - 256, 128) == bytes(128)
    assert sh.v(sp - 128, 192) == b"\xff" * 192
    assert sh.v(sp + 64, 64) == bytes(64)
    # A switch to a registered stack marks nothing; one to a heap block, what lies just below RSP.
    other = sh.new_map(16 * PAGE)
    lib.rt_stack_register(other, other + 16 * PAGE)
    lib.rt_stack_changed(ts, sp, other + 16 * PAGE - 64)
    assert sh.v(sp + 64, 64) == bytes(64)
    assert (ts.stack_lo, ts.stack_hi) == (other, other + 16 * PAGE)
    block = sh.request(lib.IP_HR_MALLOC, 65536, lib.IP_AK_MALLOC)
    lib.rt_shadow_set(block, 65536, DEFINED)
    lib.rt_stack_changed(ts, other + 16 * PAGE - 64, block + 65536)
    assert (ts.stack_lo, ts.stack_hi) == (block, block + 65536)
    assert sh.v(block, 65536) == bytes(65536 - 192) + b"\xff" * 192


def test_stack_trace_follows_valid_entries_only(sh: Any) -> None:
    lib, ts, ffi = sh.lib, sh.ts, sh.ffi
    for ret in (0x1000, 0x2000, 0x3000):
        lib.t_call(ts, ret)
    frames = ffi.new("uint64_t[8]")
    assert lib.rt_stack_trace(ts, frames, 8) == 4
    assert list(frames)[:4] == [ts.pc, 0x3000, 0x2000, 0x1000]
    ts.gpr[lib.IP_RSP] += 16  # longjmp over two frames
    assert lib.rt_stack_trace(ts, frames, 8) == 2
    assert list(frames)[:2] == [ts.pc, 0x1000]
    sh.mem(ts.gpr[lib.IP_RSP], 8)[:] = bytes(8)  # the slot was overwritten
    assert lib.rt_stack_trace(ts, frames, 8) == 1


def test_repeated_errors_are_counted_in_the_table(sh: Any) -> None:
    lib, ts, ffi = sh.lib, sh.ts, sh.ffi
    addresses_only(sh)
    ts.acc_addr, ts.acc_info = 0x0000_0E00_0000_0000, 4
    ts.pc = 0x777000
    for _ in range(5):
        lib.rt_load_slow(ts)
    assert lib.t_n_errors == 1
    table = ffi.cast("struct ip_err_table *", lib.t_chan().rt_symbols[lib.IP_SYM_STATS])
    index = lib.t_errors[0].aux[3]
    slots = ffi.cast("struct ip_err_slot *", table.slots)
    (entry,) = [s for s in slots[0 : table.capacity] if s.index == index]
    assert (entry.count, entry.kind) == (5, lib.IP_E_READ)
    lib.rt_error_disable(ts, 1)
    ts.pc = 0x778000
    lib.rt_load_slow(ts)
    assert lib.t_n_errors == 1
    lib.rt_error_disable(ts, -1)
    lib.rt_load_slow(ts)
    assert lib.t_n_errors == 2
