#!/usr/bin/env python3
"""Generate the instruction decoder's tables: x86_mnem.h and x86_tables.inc.

Usage: gen_x86_tables.py OUTDIR

The source of the tables is iced-x86 (documentation: OpCodeInfo, InstructionInfoFactory), needed only at build
time.  The opcode space is walked once: every opcode of every map is decoded with each combination of the bits
that choose an instruction (mandatory prefix, operand size, W, L, ModRM.mod/reg/rm), so the dispatch tables
say exactly what iced says.  Every distinct (instruction, has-a-memory-operand) pair found becomes one *row*
(gen_x86_rows.py), which holds the operand templates, implicit registers, flags and EVEX properties that
x86_decode.c fills in.

Dispatch: ip_xtop[map slot][opcode] -> (kind, base) -> ip_xsub[base + ModRM class] -> block of ip_xblocks_*
indexed by prefix bits -> row number (0 = invalid).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path

from iced_x86 import Code, Decoder, Instruction, Mnemonic, OpCodeInfo, OpKind

sys.path.insert(0, str(Path(__file__).resolve().parent))
from gen_x86_rows import ATTRS, CODE, MNEMONIC, Row, RowBuilder, uses_modrm

# Map slots: one 256-entry page of ip_xtop each.
SLOTS = ["L0", "L1", "L2", "L3", "D3NOW", "V1", "V2", "V3", "E1", "E2", "E3", "E5", "E6", "X8", "X9", "X10"]
KIND_NONE, KIND_NOMODRM, KIND_MOD, KIND_GROUP, KIND_FULL = range(5)


class Prober:
    """Decodes synthesised byte strings and numbers the (code, memory form) pairs it meets."""

    def __init__(self) -> None:
        self.rows: dict[tuple[int, bool], int] = {}
        self.examples: list[tuple[Instruction, bytes]] = []

    def decode(self, data: bytes) -> Instruction:
        return Decoder(64, data.ljust(16, b"\0")).decode()

    def row(self, data: bytes) -> int:
        """Row number of the instruction at data; 0 if it is invalid."""
        insn = self.decode(data)
        if insn.code == Code.INVALID:
            return 0
        mem = (
            any(insn.op_kind(i) == OpKind.MEMORY for i in range(insn.op_count))
            and insn.mnemonic != Mnemonic.XLATB
        )
        key = (insn.code, mem)
        number = self.rows.get(key)
        if number is None:
            number = self.rows[key] = len(self.rows) + 1
            self.examples.append((insn, data))
        return number

    def first(self, candidates: Iterable[bytes]) -> int:
        """First candidate that decodes."""
        for data in candidates:
            number = self.row(data)
            if number:
                return number
        return 0


def modrm_byte(cls: int, kind: int) -> int:
    """A ModRM byte of a class.  Memory forms use SIB so that gathers and tile loads decode too."""
    if kind == KIND_MOD:
        return 0xC3 if cls else 0x04
    if kind == KIND_GROUP:
        return 0xC3 | (cls & 7) << 3 if cls >= 8 else 0x04 | cls << 3
    return 0xC0 | (cls - 8) if cls >= 8 else 0x04 | cls << 3


# (slot, opcode) whose W the manuals want set and AMD CPUs ignore (vpermq, vpermpd): with W clear they are the
# same instructions.  Where that is #UD, the copy raises it.
W_IGNORED = {("V3", 0x00), ("V3", 0x01)}

N_CLASSES = {KIND_NOMODRM: 1, KIND_MOD: 2, KIND_GROUP: 16, KIND_FULL: 72}
SIB = 0x08  # base rax, index rcx (vsib: vector 1)


class Dispatch:
    """The three dispatch levels, with equal blocks shared."""

    def __init__(self, prober: Prober) -> None:
        self.prober = prober
        self.top = [0] * (len(SLOTS) * 256)
        self.sub: list[int] = []
        self.blocks: dict[str, dict[tuple[int, ...], int]] = {"legacy": {}, "vector": {}}
        self.subs: dict[tuple[int, ...], int] = {}

    def add(self, slot: str, opcode: int, kind: int, table: str, blocks: list[tuple[int, ...]]) -> None:
        """Enter the blocks of one opcode, one per ModRM class."""
        if not any(any(b) for b in blocks):
            return
        pool = self.blocks[table]
        ids = tuple(pool.setdefault(b, len(pool)) for b in blocks)
        base = self.subs.get(ids)
        if base is None:
            base = self.subs[ids] = len(self.sub)
            self.sub.extend(ids)
        self.top[SLOTS.index(slot) * 256 + opcode] = kind << 16 | base


LEGACY_ESCAPE = {0: b"", 1: b"\x0f", 2: b"\x0f\x38", 3: b"\x0f\x3a"}
NOT_OPCODES = {
    0: {0x0F, 0x26, 0x2E, 0x36, 0x3E, 0x64, 0x65, 0x66, 0x67, 0xF0, 0xF2, 0xF3, 0xC4, 0xC5, 0x62}
    | set(range(0x40, 0x50)),
    1: {0x38, 0x3A, 0x0F},
    2: set(),
    3: set(),
}


def legacy_prefixes() -> list[bytes]:
    """Block index order: [address size 64/32][none, 66, F3, F2][operand size 16, 32, 64]."""
    out = []
    for addr in (b"", b"\x67"):
        for mandatory in range(4):
            for size in range(3):
                data = addr + {2: b"\xf3", 3: b"\xf2"}.get(mandatory, b"")
                if mandatory == 1 or (mandatory > 1 and size == 0):
                    data = b"\x66" + data
                # Slots [none][16] and [66][32] cannot occur: give them the neighbouring meaning.
                out.append(data + (b"\x48" if size == 2 else b""))
    return out


def probe_legacy(dispatch: Dispatch, opcodes: dict[tuple[int, int, int], list[OpCodeInfo]]) -> None:
    """Walk the four legacy opcode maps."""
    prober, prefixes = dispatch.prober, legacy_prefixes()
    for number, escape in LEGACY_ESCAPE.items():
        for opcode in set(range(256)) - NOT_OPCODES[number]:
            infos = opcodes.get((0, number, opcode), [])
            # Opcodes with the register in their low bits are listed under the lowest one.
            infos = infos or opcodes.get((0, number, opcode & 0xF8), [])
            addr_matters = any(i.address_size for i in infos)
            full = not (number == 0 and opcode < 0x40) and any(uses_modrm(i) for i in infos)
            kind = KIND_NOMODRM
            if any(uses_modrm(i) for i in infos):
                kind = KIND_FULL if full and needs_full(infos) else KIND_GROUP if full else KIND_MOD
            blocks = []
            for cls in range(N_CLASSES[kind]):
                tail = b"" if kind == KIND_NOMODRM else bytes([modrm_byte(cls, kind), SIB])
                half = [prober.row(p + escape + bytes([opcode]) + tail) for p in prefixes[:12]]
                if addr_matters:
                    blocks.append(
                        tuple(half + [prober.row(p + escape + bytes([opcode]) + tail) for p in prefixes[12:]])
                    )
                else:
                    blocks.append(tuple(half + half))
            dispatch.add(f"L{number}", opcode, kind, "legacy", blocks)
    for suffix in range(256):
        blocks = []
        for modrm in (0x04, 0xC3):
            tail = bytes([0x0F, 0x0F, modrm]) + (bytes([SIB]) if modrm == 4 else b"") + bytes([suffix])
            blocks.append((prober.row(tail),) * 24)
        dispatch.add("D3NOW", suffix, KIND_MOD, "legacy", blocks)


def vector_bytes(enc: str, number: int, opcode: int, pp: int, w: int, ll: int, modrm: int) -> Iterable[bytes]:
    """Encodings of one VEX, EVEX or XOP opcode, with the fields that may be restricted varied."""
    tail = bytes([opcode, modrm]) + (bytes([SIB]) if modrm < 0xC0 else b"")
    for vvvv in (0xF, 0xD):
        if enc in "VX":
            first = 0xC4 if enc == "V" else 0x8F
            yield bytes([first, 0xE0 | number, w << 7 | vvvv << 3 | ll << 2 | pp]) + tail
            continue
        for k in (0, 1):
            # For a gather V' belongs to the index, which is vector 1: leave it set (not inverted) elsewhere.
            yield bytes([0x62, 0xF0 | number, w << 7 | vvvv << 3 | 4 | pp, ll << 5 | 8 | k]) + tail


def evex_b_bytes(number: int, opcode: int, pp: int, w: int, ll: int, modrm: int) -> Iterable[bytes]:
    """The register form with EVEX.b set: rounding control or suppress-all-exceptions."""
    for vvvv in (0xF, 0xD):
        for k in (0, 1):
            yield bytes([0x62, 0xF0 | number, w << 7 | vvvv << 3 | 4 | pp, ll << 5 | 0x18 | k, opcode, modrm])


def probe_vector(dispatch: Dispatch, opcodes: dict[tuple[int, int, int], list[OpCodeInfo]]) -> None:
    """Walk the VEX, EVEX and XOP maps.

    Block index order: [pp][W][L].  EVEX has a third set of classes: the register forms with EVEX.b.
    """
    prober = dispatch.prober
    for slot in SLOTS[5:]:
        enc, number = slot[0], int(slot[1:])
        table = {5: 4, 6: 5, 8: 6, 9: 7, 10: 8}.get(number, number)  # iced's OpCodeTableKind
        for opcode in range(256):
            infos = opcodes.get(("VEX".index(enc) + 10, table, opcode), [])
            if not infos:
                continue
            kind = KIND_NOMODRM
            if any(uses_modrm(i) for i in infos):
                kind = KIND_MOD
                if any(i.group_index >= 0 for i in infos):
                    kind = KIND_GROUP
                if needs_full(infos):
                    kind = KIND_FULL
            blocks = []
            space = [(pp, w, ll) for pp in range(4) for w in range(2) for ll in range(4)]
            for cls in range(N_CLASSES[kind]):
                modrm = 0xC3 if kind == KIND_NOMODRM else modrm_byte(cls, kind)
                any_w = (slot, opcode) in W_IGNORED
                blocks.append(
                    tuple(
                        prober.first(vector_bytes(enc, number, opcode, pp, w or any_w, ll, modrm))
                        if enc == "E" or ll < 2
                        else 0
                        for pp, w, ll in space
                    )
                )
            if enc == "E":
                first_reg = 1 if kind == KIND_MOD else 8
                for cls in range(first_reg, N_CLASSES[kind]):
                    modrm = modrm_byte(cls, kind)
                    blocks.append(
                        tuple(
                            prober.first(evex_b_bytes(number, opcode, pp, w, ll, modrm))
                            for pp, w, ll in space
                        )
                    )
            dispatch.add(slot, opcode, kind, "vector", blocks)


def needs_full(infos: list[OpCodeInfo]) -> bool:
    """Whether ModRM.rm takes part in choosing the instruction."""
    return any(i.op_code_len == 2 or i.rm_group_index >= 0 for i in infos)


def opcode_index() -> dict[tuple[int, int, int], list[OpCodeInfo]]:
    """OpCodeInfos by (encoding, map, first opcode byte); encodings: 0 legacy, 10 VEX, 11 EVEX, 12 XOP."""
    index: dict[tuple[int, int, int], list[OpCodeInfo]] = {}
    for code in CODE:
        info = OpCodeInfo(code)
        if not info.mode64 or info.encoding > 3:
            continue
        encoding = {0: 0, 1: 10, 2: 11, 3: 12}[info.encoding]
        opcode = info.op_code >> 8 if info.op_code_len == 2 else info.op_code
        index.setdefault((encoding, info.table, opcode), []).append(info)
    return index


def write_mnemonics(path: Path) -> None:
    """enum ip_mnem: iced's mnemonics in iced's order."""
    names = [MNEMONIC[i] for i in sorted(MNEMONIC)]
    lines = ["/* Generated by gen_x86_tables.py: instruction mnemonics. */", "#ifndef INTERPOSE_X86_MNEM_H"]
    lines += ["#define INTERPOSE_X86_MNEM_H", "", "enum ip_mnem {"]
    lines += [f"  IP_MN_{name}{' = 0' if i == 0 else ''}," for i, name in enumerate(names)]
    lines += ["  IP_MN_COUNT", "};", "", "#endif", ""]
    path.write_text("\n".join(lines))


def c_array(ctype: str, name: str, values: Iterable[int], width: int = 24) -> list[str]:
    items = [str(v) for v in values]
    out = [f"static const {ctype} {name}[{len(items)}] = {{"]
    out += ["  " + ",".join(items[i : i + width]) + "," for i in range(0, len(items), width)]
    return [*out, "};", ""]


def row_text(row: Row) -> str:
    ops = ",".join("{" + ",".join(map(str, op)) + "}" for op in row.ops) or "{0}"
    fields = [
        row.mnem, row.vlen, row.flow, hex(row.attrs), row.opsize, row.pp, row.disp_n, row.disp_nb,
        row.imm_len, row.imm_signed,
        row.imm2_len, row.mem_access, row.mem_size, row.bcast_size, row.vsib, len(row.ops),
        *map(hex, row.gpr), *map(hex, row.vec), *row.k, *map(hex, row.fl),
    ]  # fmt: skip
    return "  {" + ",".join(map(str, fields)) + ",{" + ops + "}}, /* " + CODE[row.code] + " */"


def write_tables(path: Path, dispatch: Dispatch, rows: list[Row]) -> None:
    lines = ["/* Generated by gen_x86_tables.py: decoder tables, included by x86_decode.c. */"]
    lines += [f"#define IP_XA_{name} {1 << i:#x}u" for i, name in enumerate(ATTRS)]
    lines += [f"#define IP_XSLOT_{name} {i}" for i, name in enumerate(SLOTS)]
    lines.append("")
    lines += c_array("uint32_t", "ip_xtop", dispatch.top)
    lines += c_array("uint16_t", "ip_xsub", dispatch.sub)
    for name, pool in dispatch.blocks.items():
        lines += c_array("uint16_t", f"ip_xblocks_{name}", [v for block in pool for v in block])
    lines.append(f"static const struct ip_xrow ip_xrows[{len(rows) + 1}] = {{")
    lines.append("  {0},")
    lines += [row_text(row) for row in rows]
    lines += ["};", ""]
    names = [MNEMONIC[i].lower() for i in sorted(MNEMONIC)]
    lines.append("static const char *const ip_xnames[IP_MN_COUNT] = {")
    lines += ["  " + ",".join(f'"{n}"' for n in names[i : i + 8]) + "," for i in range(0, len(names), 8)]
    lines += ["};", ""]
    path.write_text("\n".join(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("outdir", type=Path)
    out: Path = parser.parse_args().outdir
    out.mkdir(parents=True, exist_ok=True)
    prober = Prober()
    dispatch = Dispatch(prober)
    opcodes = opcode_index()
    probe_legacy(dispatch, opcodes)
    probe_vector(dispatch, opcodes)
    builder = RowBuilder()
    rows = [builder.build(data) for _, data in prober.examples]
    write_mnemonics(out / "x86_mnem.h")
    write_tables(out / "x86_tables.inc", dispatch, rows)


if __name__ == "__main__":
    main()
