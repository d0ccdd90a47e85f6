"""Traces for tests of the viewer, and what must be seen in them, worked out record by record."""

from __future__ import annotations

import random
import shutil
import subprocess
import zlib
from dataclasses import dataclass, field
from pathlib import Path

from interpose.formats import datagrind

GUEST = Path(__file__).parents[1] / "guests" / "dgview" / "symbols.c"
BIAS = 0x5555_5000_0000


@dataclass
class Access:
    """One access and all that a filter may ask of it."""

    instr: int
    address: int
    size: int
    dir: int
    ips: set[int]
    events: set[bytes]
    blocks: list[set[int]] = field(default_factory=list)
    labels: set[bytes] = field(default_factory=set)


def write_random(path: Path, seed: int, runs: int = 400) -> list[Access]:
    """A trace with everything that begins and ends while it runs, ranges that overlap, events that nest."""
    rng = random.Random(seed)
    seen: list[Access] = []
    blocks: dict[int, tuple[int, set[int]]] = {}
    tracked: list[tuple[int, int, bytes]] = []
    active: list[bytes] = []
    done = 0
    names = [b"one", b"two", b"three"]
    with open(path, "wb") as stream:
        w = datagrind.Writer(stream)
        bbdefs = []
        for n in range(6):
            at = 0x1000 + 0x100 * n
            count = rng.randrange(1, 6)
            instrs = [(at + 4 * i, 4) for i in range(count)]
            accesses = sorted(
                (
                    (rng.randrange(2), rng.choice([1, 4, 8, 16]), rng.randrange(count))
                    for _ in range(rng.randrange(5))
                ),
                key=lambda a: a[2],
            )
            bbdefs.append((w.bbdef(instrs, accesses), instrs, accesses))
        contexts = []
        for _ in range(10):
            index, instrs, accesses = rng.choice(bbdefs)
            callers = [0x9000 + 0x10 * rng.randrange(8) for _ in range(rng.randrange(3))]
            contexts.append((w.context(index, [instrs[0][0], *callers]), instrs, accesses, callers))
        for _ in range(runs):
            what = rng.random()
            if what < 0.1:
                address = 0x10000 + 0x40 * rng.randrange(64)
                size = rng.choice([0, 1, 24, 64, 100, 5000])
                ips = [0xA000 + 0x10 * rng.randrange(6) for _ in range(rng.randrange(4))]
                w.malloc_block(address, size, ips)
                blocks[address] = size, {ip - (n > 0) for n, ip in enumerate(ips)}
            elif what < 0.18 and blocks:
                address = rng.choice([*blocks, 0xDEAD])
                w.free_block(address)
                blocks.pop(address, None)
            elif what < 0.24:
                entry = 0x10000 + 0x20 * rng.randrange(64), rng.choice([1, 32, 300]), rng.choice(names)
                w.track_range(*entry, "int")
                tracked.append(entry)
            elif what < 0.28 and tracked:
                address, length, _ = rng.choice(tracked)
                w.untrack_range(address, length)
                newest = max(n for n, entry in enumerate(tracked) if entry[:2] == (address, length))
                del tracked[newest]
            elif what < 0.34:
                active.append(rng.choice(names))
                w.start_event(active[-1])
            elif what < 0.4:
                label = rng.choice(names)
                w.end_event(label)
                if label in active:
                    active.remove(label)
            else:
                index, instrs, accesses, callers = rng.choice(contexts)
                given = rng.randrange(len(accesses) + 1)
                addresses = [0x10000 + rng.randrange(0x1800) for _ in range(given)]
                n_instrs = rng.randrange(1, len(instrs) + 1)
                w.bbrun(index, n_instrs, addresses)
                for address, (kind, size, instr) in zip(addresses, accesses, strict=False):
                    seen.append(
                        Access(
                            done + instr,
                            address,
                            size,
                            kind,
                            {instrs[instr][0], *(ip - 1 for ip in callers)},
                            set(active),
                            [ips for at, (room, ips) in blocks.items() if at <= address < at + room],
                            {label for at, length, label in tracked if at <= address < at + length},
                        )
                    )
                done += n_instrs
    return seen


def rows(chunk: datagrind.Accesses) -> list[tuple[int, ...]]:
    return list(zip(*(chunk.column(name) for name in ("instr", "address", "size", "dir")), strict=True))


def key(access: Access) -> tuple[int, ...]:
    return access.instr, access.address, access.size, access.dir


def decoded(png: bytes) -> tuple[int, int, list[list[tuple[int, int, int]]]]:
    """Width, height and colours of a PNG as the viewer writes them."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at, parts = 8, {}
    while at < len(png):
        size, kind = int.from_bytes(png[at : at + 4], "big"), png[at + 4 : at + 8]
        parts[kind] = png[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + parts[kind]) == int.from_bytes(png[at + 8 + size : at + 12 + size], "big")
        at += 12 + size
    width, height = (int.from_bytes(parts[b"IHDR"][n : n + 4], "big") for n in (0, 4))
    assert parts[b"IHDR"][8:] == bytes([8, 3, 0, 0, 0])
    data, palette = zlib.decompress(parts[b"IDAT"]), parts[b"PLTE"]
    colours = [tuple(palette[3 * n : 3 * n + 3]) for n in range(len(palette) // 3)]
    lines = [data[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(line[0] == 0 for line in lines)
    return width, height, [[colours[pixel] for pixel in line[1:]] for line in lines]


def build_guest(folder: Path) -> tuple[Path, dict[str, int]]:
    """A program with symbols and lines, and where its functions are."""
    program = folder / "symbols"
    subprocess.run(
        [shutil.which("gcc") or "cc", "-g", "-O1", "-fno-inline", "-fPIE", "-pie", GUEST, "-o", program],
        check=True,
    )
    from interpose.elf.image import Image

    symbols = {symbol.name: symbol.value for symbol in Image.open(str(program)).symtab}
    return program, symbols


def write_program(path: Path, program: Path, symbols: dict[str, int]) -> dict[str, int]:
    """`leaf` called by `middle` reads a table and a heap block; `main` writes elsewhere. What is where."""
    from interpose.elf.image import Image

    text = Image.open(str(program)).section_named(".text")
    assert text is not None
    leaf, middle, main = (BIAS + symbols[name] for name in ("leaf", "middle", "main"))
    table, heap, stack = BIAS + symbols["table"], 0x6000_0000_0000, 0x7FFF_0000_0000
    with open(path, "wb") as stream:
        w = datagrind.Writer(stream)
        w.text_avma(BIAS + text.addr, str(program))
        inner = w.bbdef([(leaf, 2), (leaf + 2, 1)], [(0, 4, 0), (1, 4, 1)])
        outer = w.bbdef([(main, 4)], [(1, 8, 0)])
        called = w.context(inner, [leaf, middle + 5, main + 9])
        alone = w.context(outer, [main])
        w.malloc_block(heap, 256, [main, middle + 5])
        w.track_range(table, 256, "table", "int[64]")
        for n in range(32):
            w.bbrun(called, 2, [table + 4 * n, heap + 8 * n])
        w.start_event("phase")
        for n in range(32):
            w.bbrun(alone, 1, [stack - 8 * n])
        w.end_event("phase")
        w.free_block(heap)
    return {"leaf": leaf, "middle": middle, "main": main, "table": table, "heap": heap, "stack": stack}
