"""The translator thread, asked as the runtime asks it: which jumps lead where after drops and flushes."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
import time
from collections.abc import Iterator

import pytest

from interpose.jit._native import ffi, lib
from interpose.session import CACHE_SIZE, META_SIZE, Memory

SYS_FUTEX, FUTEX_WAKE = 202, 1
PAGE = 4096
JZ = bytes.fromhex("85c00f84")  # test eax, eax; jz rel32
RET = b"\xc3"
MAP_32BIT = 0x40


class Client:
    """A client of one thread, without a program: its code is a buffer of this process."""

    def __init__(
        self, cache_bytes: int = CACHE_SIZE, low: bool = False, tool: bytes = b"none", options: int = 0
    ) -> None:
        flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | (MAP_32BIT if low else 0)
        self.code = mmap.mmap(-1, 4 * PAGE, flags=flags)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.code))
        self.memory = Memory()
        header = self.memory.header
        header.client_pid = os.getpid()
        for index in range(32):
            header.rt_symbols[index] = 0x70000000 + 16 * index
        self.meta = mmap.mmap(self.memory.meta_fd, META_SIZE)
        self.cache = mmap.mmap(self.memory.cache_fd, CACHE_SIZE)
        self.slot = ffi.cast("struct ip_slot *", ffi.cast("char *", header) + lib.IP_CHAN_SLOTS)
        status = lib.ip_service_start(*self.memory.descriptors(), tool, options, cache_bytes, -1, b"", 0, 0)
        assert status == 0
        # Other tests of this process may have left tables, and what is known of pages at these addresses.
        self.ask(lib.IP_R_INVALIDATE, self.base, len(self.code), lib.IP_INVALID_CHANGED)
        self.ask(lib.IP_R_FLUSH)

    def close(self) -> None:
        lib.ip_service_stop()

    def put(self, offset: int, code: bytes) -> None:
        self.code[offset : offset + len(code)] = code

    def jz(self, offset: int, target: int) -> None:
        """At an offset: a conditional jump, then a return."""
        self.put(offset, JZ + struct.pack("<i", target - (offset + 8)) + RET)

    def call(self, offset: int, target: int) -> None:
        """At an offset: a call, then a return."""
        self.put(offset, b"\xe8" + struct.pack("<i", target - (offset + 5)) + RET)

    def ask(self, kind: int, *words: int) -> tuple[int, int]:
        for index in range(8):
            self.slot.a[index] = words[index] if index < len(words) else 0
        self.slot.kind = kind
        self.slot.tid = os.getpid()
        self.slot.state = lib.IP_S_POSTED
        header = self.memory.header
        header.pend_tr[0] |= 1
        header.bell_tr += 1
        address = int(ffi.cast("uintptr_t", ffi.addressof(header, "bell_tr")))
        ctypes.CDLL(None).syscall(SYS_FUTEX, ctypes.c_void_p(address), FUTEX_WAKE, 1, None, None, 0)
        while self.slot.state != lib.IP_S_DONE:
            time.sleep(0)
        return self.slot.r[0], self.slot.r[1]

    def translate(self, offset: int, exit_id: int = 0, generation: int | None = None, bits: int = 0) -> int:
        """Address of the translation; pages are watched as the runtime does it."""
        key = (self.base + offset) | bits
        gen = self.generation() if generation is None else generation
        while True:
            span = (self.base, self.base + len(self.code))
            host, full = self.ask(lib.IP_R_TRANSLATE, key, exit_id, *span, gen)
            assert not full
            if host:
                return int(host)
            for (page,) in struct.iter_unpack("<Q", bytes(ffi.buffer(self.slot.data, self.slot.len))):
                self.ask(lib.IP_R_WATCHED, page, 0)

    def invalidate(self, offset: int, why: int = lib.IP_INVALID_CHANGED) -> int:
        return self.ask(lib.IP_R_INVALIDATE, self.base + offset, 1, why)[0]

    def generation(self) -> int:
        return int(ffi.from_buffer("struct ip_meta *", self.meta).generation)

    def exit_to(self, offset: int) -> int:
        """Number of the newest direct exit to an offset."""
        count = ffi.from_buffer("struct ip_meta *", self.meta).n_exits
        exits = ffi.cast("struct ip_exit *", ffi.from_buffer(self.meta) + lib.IP_META_EXITS)
        found = [
            number
            for number in range(1, count)
            if exits[number].key == self.base + offset and exits[number].kind_aux & 0xFF == lib.IP_X_DIRECT
        ]
        return found[-1]

    def finds(self, offset: int, bits: int = 0) -> int:
        """Address that a look-up in the client's table gives; 0 for none."""
        key = (self.base + offset) | bits
        table = self.meta[lib.IP_META_TT : lib.IP_META_TT + 8 * lib.IP_META_TTSIZE]
        blocks = ffi.cast("struct ip_block *", ffi.from_buffer(self.meta) + lib.IP_META_BLOCKS)
        for entry, host in filter(any, struct.iter_unpack("<II", table)):
            number = entry & lib.IP_TT_BLOCK
            block = blocks[number - 1]
            alias = lib.IP_KEY_NOREDIR if entry & lib.IP_TT_NOREDIR else 0
            if number != lib.IP_TT_GONE and block.key | alias == key:
                assert host == block.host + block.entry
                return int(host)
        return 0

    def stale_exits(self, offset: int) -> int:
        """How many exits all blocks had by which the one at an offset is to be made anew."""
        meta = ffi.from_buffer("struct ip_meta *", self.meta)
        exits = ffi.cast("struct ip_exit *", ffi.from_buffer(self.meta) + lib.IP_META_EXITS)
        kinds = [exits[n].kind_aux & 0xFF for n in range(meta.n_exits) if exits[n].key == self.base + offset]
        return kinds.count(lib.IP_X_STALE)

    def checks(self) -> list[int]:
        """The exits of checks, each with a number: the place of its jump."""
        used = ffi.from_buffer("struct ip_meta *", self.meta).cold_used
        first = lib.IP_COLD_BASE - lib.IP_CACHE_BASE
        stubs = self.cache[first : first + used]
        places = (lib.IP_COLD_BASE + at for at in range(used - 4))
        return [at for at in places if struct.pack("<IB", at, 0xE9) in stubs[at - lib.IP_COLD_BASE - 5 :][:5]]

    def goes_to(self, exit_id: int) -> int:
        """Where the jump of an exit leads now."""
        exits = ffi.cast("struct ip_exit *", ffi.from_buffer(self.meta) + lib.IP_META_EXITS)
        at = exits[exit_id].patch if exit_id < lib.IP_META_EXITMAX else exit_id
        (rel,) = struct.unpack_from("<i", self.cache, at - lib.IP_CACHE_BASE)
        return int(at + 4 + rel)


@pytest.fixture
def client() -> Iterator[Client]:
    client = Client()
    yield client
    client.close()


def test_exit_is_linked(client: Client) -> None:
    client.jz(0, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    taken = client.exit_to(PAGE)
    stub = client.goes_to(taken)
    target = client.translate(PAGE, taken)
    assert stub != target == client.goes_to(taken)


def test_waiting_exit_is_linked_when_its_block_comes(client: Client) -> None:
    client.jz(0, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    taken = client.exit_to(PAGE)
    target = client.translate(PAGE)
    assert client.goes_to(taken) == target


def test_blocks_of_an_earlier_run_know_what_they_test() -> None:
    client = Client(low=True, tool=b"memcheck", options=lib.IP_C_SHADOW | lib.IP_C_UNDEF)
    begin, end = client.base, client.base + len(client.code)
    client.jz(0, PAGE)
    client.put(PAGE, bytes.fromhex("85c0") + RET)
    lib.ip_stable_add(begin, end)
    lib.ip_keep_start(1, -1, 1 << 20)
    try:
        client.translate(0)
        client.translate(PAGE)
        file = os.memfd_create("kept")
        assert lib.ip_keep_save(begin, end, -1, file) == 2
        client.ask(lib.IP_R_FLUSH)
        assert lib.ip_keep_add(begin, end, file) == 2
        made = ffi.from_buffer("struct ip_meta *", client.meta).n_blocks
        client.translate(0)
        taken = client.exit_to(PAGE)
        assert client.goes_to(taken) > client.translate(PAGE, taken)
        assert ffi.from_buffer("struct ip_meta *", client.meta).n_blocks == made + 2
        assert lib.ip_keep_fresh(begin, end) == 0  # both are the file's
    finally:
        lib.ip_keep_writes(0)
        lib.ip_keep_add(begin, end, -1)
        lib.ip_stable_del(begin, end)
        client.close()


TRACKED = lib.IP_KEY_TRACK | lib.IP_KEY_NOREDIR
LOAD = bytes.fromhex("8b07")  # mov eax, [rdi]


@pytest.fixture
def checking() -> Iterator[Client]:
    """Its first block has a load at the end of one page and one at the beginning of the next."""
    client = Client(low=True, tool=b"memcheck", options=lib.IP_C_SHADOW | lib.IP_C_UNDEF)
    client.put(PAGE - 2, LOAD + bytes.fromhex("8b06") + RET)
    yield client
    client.close()


def where_to_go_on(client: Client, check: int) -> int:
    return int(client.cache[check - lib.IP_CACHE_BASE + lib.IP_CHECK_WHERE])


def test_check_is_linked(checking: Client) -> None:
    checking.translate(PAGE - 2)
    checks = checking.checks()
    assert [where_to_go_on(checking, check) for check in checks] == [lib.IP_CHECK_ENTRY, 0, 1, 2]
    assert all(check % 8 <= 4 for check in checks), "a jump is patched in one piece"
    outs = [checking.goes_to(check) for check in checks]
    assert len(set(outs)) == 1, "all lead to the runtime"
    target = checking.translate(PAGE, checks[2], bits=TRACKED)
    assert checking.translate(PAGE, checks[2], bits=TRACKED) == target, "linked once"
    assert [checking.goes_to(check) for check in checks] == [*outs[:2], target, outs[3]]


def test_checks_of_a_dropped_block_leave_the_cache(checking: Client) -> None:
    checking.translate(PAGE - 2)
    check = checking.checks()[2]
    out = checking.goes_to(check)
    target = checking.translate(PAGE, check, bits=TRACKED)
    assert checking.invalidate(0) == 1
    assert checking.goes_to(check) == out
    assert checking.translate(PAGE, check, bits=TRACKED) == target
    assert checking.goes_to(check) == out, "a thread that is in it still links nothing"


def test_checks_lead_to_no_dropped_block(checking: Client) -> None:
    checking.translate(PAGE - 2)
    other, check = checking.checks()[1:3]
    out = checking.goes_to(check)
    tracked = [
        checking.translate(offset, at, bits=TRACKED) for offset, at in ((PAGE - 2, other), (PAGE, check))
    ]
    assert [checking.goes_to(at) for at in (other, check)] == tracked
    key = checking.base + PAGE | TRACKED
    checking.ask(lib.IP_R_TRANSLATE, key, 0, 0, 2**64 - 1, checking.generation(), key)
    assert [checking.goes_to(at) for at in (other, check)] == [tracked[0], out]
    again = checking.translate(PAGE, check, bits=TRACKED)
    assert checking.goes_to(check) == again != tracked[1]


@pytest.mark.parametrize("why", [lib.IP_INVALID_CHANGED, lib.IP_INVALID_WRITTEN])
def test_jumps_to_a_dropped_block_leave_the_cache(client: Client, why: int) -> None:
    """The block with the jump is still good: it lies in another page."""
    client.jz(0, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    taken = client.exit_to(PAGE)
    stub = client.goes_to(taken)
    old = client.translate(PAGE, taken)
    assert client.invalidate(PAGE, why) == 1
    assert client.goes_to(taken) == stub
    new = client.translate(PAGE, taken)
    assert old != new == client.goes_to(taken)


def test_jumps_of_a_dropped_block_leave_the_cache(client: Client) -> None:
    """A thread may still run it: its next exit goes by way of the runtime, which looks whether it may."""
    client.jz(0, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    taken = client.exit_to(PAGE)
    stub = client.goes_to(taken)
    target = client.translate(PAGE, taken)
    client.invalidate(0)
    assert client.goes_to(taken) == stub
    assert client.translate(PAGE) == target


def test_dropped_blocks_are_not_linked_again(client: Client) -> None:
    """What waits for a block that comes later, and was dropped meanwhile."""
    client.jz(0, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    waiting = client.exit_to(PAGE)
    stub = client.goes_to(waiting)
    client.invalidate(0)
    client.translate(PAGE)
    assert client.goes_to(waiting) == stub


def test_exit_of_before_a_flush_is_another_one_after_it(client: Client) -> None:
    """A thread left by it before another thread had the cache flushed, and asks afterwards."""
    client.jz(0, PAGE)
    client.jz(256, 2 * PAGE)
    client.put(PAGE, RET)
    before = client.generation()
    client.translate(0)
    taken = client.exit_to(PAGE)
    client.ask(lib.IP_R_FLUSH)
    client.translate(256)
    other = client.exit_to(2 * PAGE)
    assert other == taken, "the numbers begin anew"
    stub = client.goes_to(other)
    client.translate(PAGE, taken, before)
    assert client.goes_to(other) == stub


def test_code_that_may_change_unnoticed_is_read_for_each_request(client: Client) -> None:
    """The page was copied for the first block, and has another second one by now."""
    client.put(0, RET)
    client.put(64, RET)
    client.ask(lib.IP_R_WATCHED, client.base, 1)
    client.translate(0)
    client.jz(64, PAGE)
    client.translate(64)
    assert client.exit_to(PAGE)


def test_nothing_is_made_ahead_of_pages_that_may_change(client: Client) -> None:
    """The runtime does not know of such a page yet, so nobody would notice a write."""
    client.call(0, 16)
    client.call(16, PAGE)
    client.put(PAGE, RET)
    client.translate(0)
    assert client.finds(16), "on the same page, which is watched"
    assert not client.finds(PAGE)
    client.translate(PAGE)
    client.invalidate(0)
    client.call(0, PAGE)
    client.translate(0)
    assert client.finds(PAGE)


def test_calls_and_returns_are_made_ahead(client: Client) -> None:
    """Most of them run, unlike what jumps lead to."""
    client.call(0, 64)
    client.jz(64, 128)
    client.put(128, RET)
    client.translate(0)
    assert client.finds(64), "what is called"
    assert client.finds(5), "where it returns to"
    assert not client.finds(128), "a branch of it"


SLOT = 2 * PAGE
LINKAGE = bytes.fromhex("f30f1efa ff25") + struct.pack("<i", SLOT - 10)  # endbr64; jmp [slot], at offset 0


@pytest.fixture
def low_client() -> Iterator[Client]:
    client = Client(low=True)
    yield client
    client.close()


def leads_on(client: Client, target: int) -> bool:
    """Does the translation of a linkage table's entry jump directly to what its slot holds?"""
    client.put(0, LINKAGE)
    client.put(SLOT, struct.pack("<Q", target))
    client.translate(0)
    try:
        client.exit_to(target - client.base)
    except IndexError:
        return False
    return True


def test_entry_of_a_linkage_table_leads_on_to_what_its_slot_holds(low_client: Client) -> None:
    """Without a look into the table of indirect jumps; from there on as any direct jump."""
    client = low_client
    client.put(PAGE, RET)
    assert leads_on(client, client.base + PAGE)
    taken = client.exit_to(PAGE)
    stub = client.goes_to(taken)
    assert client.translate(PAGE, taken) == client.goes_to(taken)
    client.invalidate(PAGE)
    assert client.goes_to(taken) == stub


@pytest.mark.parametrize("code", ["6801000000", "f30f1efa 6801000000"])
def test_entry_of_a_linkage_table_is_made_anew_when_it_is_bound(low_client: Client, code: str) -> None:
    """Its slot holds what asks the dynamic linker; when it holds something else the block is made anew."""
    client = low_client
    client.put(PAGE, bytes.fromhex(code))
    assert leads_on(client, client.base + PAGE)
    old = client.translate(0)
    assert client.stale_exits(0) == 1
    client.put(2 * PAGE - 16, RET)
    client.put(SLOT, struct.pack("<Q", client.base + 2 * PAGE - 16))
    span = (client.base, client.base + len(client.code))
    new, _ = client.ask(lib.IP_R_TRANSLATE, client.base, 0, *span, client.generation(), client.base)
    assert new not in (0, old)
    assert client.exit_to(2 * PAGE - 16) and client.stale_exits(0) == 1, "no other"


def test_unbound_entry_behind_other_instructions_is_not_led(low_client: Client) -> None:
    """Those were carried out already when the slot is looked at, so the block could not begin anew."""
    client = low_client
    client.put(PAGE, bytes.fromhex("6801000000"))
    client.put(SLOT, struct.pack("<Q", client.base + PAGE))
    client.put(32, LINKAGE[:6] + struct.pack("<i", SLOT - 32 - 10))
    client.put(64, bytes.fromhex("ffc0 ebdc"))  # inc eax; jmp to the entry
    client.translate(64)
    assert client.stale_exits(64) == 0


def test_entry_of_a_linkage_table_is_not_led_where_no_immediate_reaches(client: Client) -> None:
    assert client.base > 1 << 32
    client.put(PAGE, RET)
    assert not leads_on(client, client.base + PAGE)


def test_entry_of_a_linkage_table_without_memory_leads_nowhere(low_client: Client) -> None:
    """No slot can be read, or nothing where it leads."""
    assert not leads_on(low_client, 16)
    low_client.put(0, LINKAGE[:6] + struct.pack("<i", 0x7FFFF000 - low_client.base - 10))
    low_client.invalidate(0)
    assert low_client.translate(0)


def test_dropped_block_is_found_under_no_key(client: Client) -> None:
    """A call past a wrapper has a key of its own, for the same block where nothing is wrapped."""
    client.put(0, RET)
    plain = client.translate(0)
    assert client.translate(0, bits=lib.IP_KEY_NOREDIR) == plain
    assert client.finds(0) == client.finds(0, lib.IP_KEY_NOREDIR) == plain
    client.invalidate(0)
    assert not client.finds(0) and not client.finds(0, lib.IP_KEY_NOREDIR)


def test_stale_block_is_made_anew(client: Client) -> None:
    """Where writes come unnoticed blocks compare their bytes, and ask for another when these are others."""
    client.put(0, RET)
    client.ask(lib.IP_R_WATCHED, client.base, 1)
    old = client.translate(0)
    assert client.translate(0) == old
    span = (client.base, client.base + PAGE)
    new, _ = client.ask(lib.IP_R_TRANSLATE, client.base, 0, *span, client.generation(), client.base)
    assert new not in (0, old)
    assert client.finds(0) == new


def test_single_instructions_are_not_found_again(client: Client) -> None:
    client.jz(0, PAGE)
    once = client.translate(0, bits=lib.IP_KEY_ONE)
    assert client.translate(0, bits=lib.IP_KEY_ONE) != once
    assert client.translate(0) != once


def test_page_that_is_not_watched_is_told_first(client: Client) -> None:
    """And again after its translations were dropped, for it is writable from then on."""
    client.put(0, RET)
    span = (client.base, client.base + PAGE)
    for _ in range(2):
        assert client.ask(lib.IP_R_TRANSLATE, client.base, 0, *span, client.generation()) == (0, 0)
        assert bytes(ffi.buffer(client.slot.data, client.slot.len)) == struct.pack("<Q", client.base)
        client.translate(0)
        client.invalidate(0)


def test_code_that_changed_between_two_requests_is_read_anew(client: Client) -> None:
    """The page is announced as watched only now: what was read before may be old."""
    client.put(0, RET)
    span = (client.base, client.base + PAGE)
    client.ask(lib.IP_R_TRANSLATE, client.base, 0, *span, client.generation())
    client.jz(0, PAGE)
    client.translate(0)
    assert client.exit_to(PAGE)


def test_dropped_block_lets_nobody_in_by_the_fast_table() -> None:
    """Its entry there is named, and one stored later by a thread that had looked it up before misses."""
    client = Client(low=True)
    try:
        client.put(PAGE, RET)
        check = client.translate(PAGE) - lib.IP_ENTRY_CHECK - lib.IP_CACHE_BASE
        assert client.cache[check : check + 3] == b"\x48\x8d\x8a"  # lea rcx, [rdx - pc]
        assert client.cache[check + 7 : check + 10] == b"\xe3\x07\xe9"  # jrcxz over a jmp and two nops
        assert client.ask(lib.IP_R_INVALIDATE, client.base + PAGE, 1, lib.IP_INVALID_CHANGED) == (1, 0)
        named = struct.unpack(
            f"<{client.slot.len // 2}H", bytes(ffi.buffer(client.slot.data, client.slot.len))
        )
        assert (client.base + PAGE) & 0xFFFF in named
        assert client.cache[check + 7 : check + 10] == b"\xe3\x00\xe9"
    finally:
        client.close()


def cache_views() -> list[tuple[int, int]]:
    """Where this process has the code cache's file, and how much of it is there by huge pages."""
    found: list[tuple[int, int]] = []
    inside = False
    with open("/proc/self/smaps") as file:
        for line in file:
            words = line.split()
            if "-" in words[0]:
                inside = "interpose-cache" in line
                start = int(words[0].split("-")[0], 16)
            elif inside and words[0] == "ShmemPmdMapped:":
                found.append((start, int(words[1]) << 10))
    return found


def test_code_that_fills_huge_pages_lies_in_such(client: Client) -> None:
    """Or the kernel can make none of it, now no more than then."""
    huge, collapse = 2 << 20, 25  # MADV_COLLAPSE
    client.put(0, b"\xb8" * len(client.code))  # mov eax, 0xb8b8b8b8, wherever one begins
    hosts: dict[int, bytes] = {}
    for offset in range(len(client.code) - 64):
        host = client.translate(offset) - lib.IP_CACHE_BASE
        hosts[host] = client.cache[host : host + 32]
        if host > huge + PAGE:
            break
    else:
        pytest.fail(f"all this code takes {host} bytes only")
    lib.ip_large_pages()
    assert all(client.cache[host : host + 32] == code for host, code in hosts.items())
    views = [(start, size) for start, size in cache_views() if start % huge == 0]
    assert views
    if not any(size for _, size in views):
        madvise = ctypes.CDLL(None, use_errno=True).madvise
        answers = [madvise(ctypes.c_void_p(start), ctypes.c_size_t(huge), collapse) for start, _ in views]
        assert all(answers), "huge pages can be had"
