"""Call frame information and unwinding; pyelftools is the referee."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from elftools.dwarf.callframe import FDE
from elftools.elf.elffile import ELFFile

from interpose.elf.cfi import RBP, RSP, FrameTable, Row
from interpose.elf.image import Image
from interpose.elf.unwind import Unwinder

LIBRARIES = ["/lib64/ld-linux-x86-64.so.2", "/lib/x86_64-linux-gnu/libgcc_s.so.1", "/bin/ls"]


def shown(row: dict, register: int) -> tuple[str, int] | None:
    """pyelftools' rule for a register in our words; None where none is kept."""
    rule = row.get(register)
    if rule is None or rule.type == "SAME_VALUE":
        return None
    kinds = {"OFFSET": "offset", "UNDEFINED": "undefined", "VAL_OFFSET": "val_offset", "REGISTER": "register"}
    return (kinds[rule.type], rule.arg or 0) if rule.type in kinds else ("other", 0)


@pytest.mark.parametrize("path", LIBRARIES)
def test_rows_agree_with_pyelftools(path: str) -> None:
    if not Path(path).exists():
        pytest.skip("not on this system")
    table = FrameTable(Image.open(str(Path(path).resolve())))
    compared = 0
    with open(path, "rb") as file:
        entries = [e for e in ELFFile(file).get_dwarf_info().EH_CFI_entries() if isinstance(e, FDE)]
        for entry in random.Random(1).sample(entries, min(len(entries), 300)):
            rows = entry.get_decoded().table
            end = entry["initial_location"] + entry["address_range"]
            for row, following in zip(rows, [*rows[1:], {"pc": end}], strict=True):
                if row["pc"] >= following["pc"]:
                    continue
                for address in {row["pc"], following["pc"] - 1}:
                    ours = table.row(address)
                    assert ours is not None, hex(address)
                    cfa = row["cfa"]
                    if cfa.expr is None:
                        assert ours.cfa == (cfa.reg, cfa.offset), hex(address)
                    else:
                        assert ours.cfa == bytes(cfa.expr), hex(address)
                    for register in range(17):
                        wanted = shown(row, register)
                        got = ours.rules.get(register)
                        if wanted is not None and wanted[0] == "other":
                            assert got is not None and "expression" in got[0]
                        else:
                            assert got == wanted, (hex(address), register)
                    compared += 1
            assert table.row(end) is None or any(e["initial_location"] == end for e in entries)
    assert compared > 100


def test_without_the_search_table(monkeypatch: pytest.MonkeyPatch) -> None:
    path = str(Path(LIBRARIES[0]).resolve())
    whole = FrameTable(Image.open(path))
    monkeypatch.setattr(FrameTable, "_read_header", lambda self, image: None)
    scanned = FrameTable(Image.open(path))
    assert len(whole.starts) > 100
    for start in whole.starts[::7]:
        assert scanned.row(start) == whole.row(start)


def test_damaged_tables_answer_nothing() -> None:
    path = str(Path(LIBRARIES[0]).resolve())
    data = bytearray(Path(path).read_bytes())
    image = Image.open(path)
    section = image.section_named(".eh_frame")
    rng = random.Random(2)
    for _ in range(200):
        data[section.offset + rng.randrange(section.size)] = rng.randrange(256)
    table = FrameTable(Image.from_bytes(bytes(data), path))
    assert len(table.starts) > 100
    for start in table.starts:
        row = table.row(start + 1)
        assert row is None or isinstance(row, Row)


class Stack:
    """A made-up stack of words below a limit."""

    def __init__(self, words: dict[int, int]) -> None:
        self.words = words

    def read(self, address: int, size: int) -> bytes | None:
        value = self.words.get(address)
        return None if value is None else value.to_bytes(8, "little")[:size]


class Table:
    """Frame tables by hand: rows by address range."""

    def __init__(self, rows: dict[range, Row]) -> None:
        self.rows = rows

    def row(self, address: int) -> Row | None:
        return next((row for where, row in self.rows.items() if address in where), None)


def test_trace_by_rules() -> None:
    leaf = Row((RSP, 8), {16: ("offset", -8)})
    framed = Row((RBP, 16), {16: ("offset", -8), RBP: ("offset", -16)})
    outermost = Row((RSP, 8), {16: ("undefined", 0)})
    table = Table(
        {range(0x1000, 0x1100): leaf, range(0x1100, 0x1200): framed, range(0x1200, 0x1300): outermost}
    )
    # leaf was called at the very end of framed: only "return address less one" finds framed.
    words = {0x8000: 0x1200, 0x8100: 0x9000, 0x8108: 0x1250}
    unwinder = Unwinder(Stack(words).read, lambda pc: (table, 0) if 0x1000 <= pc < 0x1300 else None)
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0x8100}, 12) == [0x1010, 0x1200, 0x1250]
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0x8100}, 2) == [0x1010, 0x1200]


def test_signal_frames_keep_their_exact_address() -> None:
    """The interrupted instruction is at the start of a function: less one would be another."""
    trampoline = Row((RSP, 0x80), {16: ("offset", -8), RSP: ("offset", -16)}, is_signal=True)
    table = Table(
        {range(0x1000, 0x1100): trampoline, range(0x1100, 0x1200): Row((RSP, 8), {16: ("offset", -8)})}
    )
    words = {0x8078: 0x1100, 0x8070: 0x9000, 0x9000: 0x1180}
    unwinder = Unwinder(Stack(words).read, lambda pc: (table, 0) if 0x1000 <= pc < 0x1200 else None)
    assert unwinder.trace(0x1010, {RSP: 0x8000}, 3) == [0x1010, 0x1101, 0x1180]


def test_code_without_tables_is_followed_by_frame_pointers() -> None:
    words = {0x8010: 0x8040, 0x8018: 0x1234, 0x8040: 0, 0x8048: 0x1240}
    unwinder = Unwinder(Stack(words).read, lambda pc: (Table({}), 0) if 0x1000 <= pc < 0x2000 else None)
    assert unwinder.trace(0x1111, {RSP: 0x8000, RBP: 0x8010}, 12) == [0x1111, 0x1234, 0x1240]


class Memory:
    """A stack as memory is: what crosses its end cannot be read."""

    def __init__(self, start: int, words: list[int]) -> None:
        self.start, self.data, self.reads = start, b"".join(w.to_bytes(8, "little") for w in words), 0

    def read(self, address: int, size: int) -> bytes | None:
        self.reads += 1
        at = address - self.start
        return self.data[at : at + size] if 0 <= at <= len(self.data) - size else None


def test_words_are_read_together_up_to_the_end_and_anew_for_each_trace() -> None:
    table = Table({range(0x1000, 0x2000): Row((RSP, 16), {16: ("offset", -8), RBP: ("offset", -16)})})
    returns = [0x1100 + 8 * n for n in range(200)]
    memory = Memory(0x8000, [word for pc in returns for word in (0, pc)])
    unwinder = Unwinder(memory.read, lambda pc: (table, 0))
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0}, 150) == [0x1010, *returns[:149]]
    assert memory.reads < 20
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0}, 500) == [0x1010, *returns]
    memory.data = memory.data[:8] + (0x1F00).to_bytes(8, "little") + memory.data[16:]
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0}, 3) == [0x1010, 0x1F00, returns[1]]


def test_a_circle_ends() -> None:
    circle = Row((RBP, 0), {16: ("offset", 8)})
    table = Table({range(0x1000, 0x1100): circle})
    unwinder = Unwinder(Stack({0x8008: 0x1050}).read, lambda pc: (table, 0))
    assert unwinder.trace(0x1010, {RSP: 0x8000, RBP: 0x8000}, 100) == [0x1010]
