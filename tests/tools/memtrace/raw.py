"""Makes raw files as memtrace's part in the program would, of blocks that a test lays out."""

from __future__ import annotations

import struct
from pathlib import Path

from interpose.jit._native import ffi, lib
from interpose.tools.memtrace.finishing import Run

BASE = 0x79001000
NO_WORD = 0xFFFF
KINDS = {
    "plain": lib.IP_TR_PLAIN,
    "jmp": lib.IP_TR_DIRECT_JUMP,
    "jcc": lib.IP_TR_COND_JUMP,
    "call": lib.IP_TR_DIRECT_CALL,
    "calli": lib.IP_TR_INDIRECT_CALL,
    "jmpi": lib.IP_TR_INDIRECT_JUMP,
    "ret": lib.IP_TR_RETURN,
    "syscall": lib.IP_TR_SYSCALL_INSN,
}
R, W = lib.IP_ACC_R, lib.IP_ACC_W


def access(kind: int, size: int, base: int = NO_WORD, disp: int = 0, **more: int) -> dict[str, int]:
    """An access of an instruction: the word that its address begins with, and what is added."""
    return {"index": NO_WORD, "scale": 1, **more, "kind": kind, "size": size, "base": base, "disp": disp}


class Raw:
    """A raw file under construction."""

    def __init__(self, folder: Path, pid: int = 100, **run: object) -> None:
        self.folder = folder
        self.pid = pid
        self.templates = bytearray()
        self.words: dict[int, int] = {}
        """Words of each template."""
        self.before: dict[tuple[int, int], list[int]] = {}
        self.frames: list[bytes] = []
        self.run = Run("app", pid)
        for name, value in run.items():
            setattr(self.run, name, value)

    def block(
        self,
        pc: int,
        insns: list[tuple[str, bytes] | tuple[str, bytes, dict[str, object]]],
        words: int = 0,
        **more: int,
    ) -> int:
        """A template; each instruction is its kind, its bytes, and fields (``accesses``, ``target``, …)."""
        head = ffi.new("struct ip_tr_block *")
        head.pc = head.key = pc
        head.n_words, head.n_insns = words, len(insns)
        head.number, head.first_word = len(self.words), sum(self.words.values())
        head.sp_word, head.args_word, head.result_word = 0xFFFFFFFF, NO_WORD, NO_WORD
        for name, value in more.items():
            setattr(head, name, value)
        texts, accesses = [], []
        for kind, code, *rest in insns:
            fields = dict(rest[0]) if rest else {}
            own = fields.pop("accesses", [])
            insn = ffi.new("struct ip_tr_insn *", {"rep_words": NO_WORD, **fields})
            insn.pc, insn.len, insn.kind = pc, len(code), KINDS[kind]
            ffi.memmove(insn.bytes, code, len(code))
            insn.n_accesses, insn.first_access = len(own), len(accesses)
            accesses += [bytes(ffi.buffer(ffi.new("struct ip_tr_access *", one))) for one in own]
            texts.append(bytes(ffi.buffer(insn)))
            pc += len(code)
        head.n_accesses = len(accesses)
        body = b"".join([*texts, *accesses])
        head.bytes = ffi.sizeof("struct ip_tr_block") + len(body)
        address = BASE + len(self.templates)
        self.words[address] = words
        self.templates += bytes(ffi.buffer(head)) + body
        return address

    def frame(self, tid: int, number: int, words: list[int]) -> None:
        """What a thread hands over at once."""
        data = b""
        while words:
            head, high = words[0] & 0xFFFFFFFF, words[0] >> 32
            if head < lib.IP_TR_EVENTS:
                record, words = words[: 1 + high], words[1 + high :]
                packed = bytes([64]) + b"".join(struct.pack("<Q", one & (1 << 64) - 1) for one in record)
            else:
                count = self.words.get(head, 0)
                values, words = words[1 : 1 + count], words[1 + count :]
                packed = self._packed(number, head, high, values)
            data += packed
        self.frames.append(struct.pack("<IIQ", tid, number, len(data)) + data)

    def _packed(self, number: int, head: int, completed: int, values: list[int]) -> bytes:
        """A run as trace/pack.h has it, nothing predicted."""
        before = self.before.get((number, head), [0] * len(values))
        self.before[number, head] = values
        data = bytes([4 if values else 0]) + packed_number((head - BASE) // 8 & 0xFFFFFFF)
        data += packed_number(completed)
        if values:
            data += ((1 << len(values)) - 1).to_bytes((len(values) + 7) // 8, "little")
        for value, old in zip(values, before, strict=True):
            change = value - old
            data += packed_number(change << 1 if change >= 0 else (-change << 1) - 1)
        return data

    def save(self, cut: int = 0) -> Path:
        """Write the files, without the last ``cut`` bytes."""
        (self.folder / "raw").mkdir(parents=True, exist_ok=True)
        self.run.save(str(self.folder))
        head = struct.pack("<QQQQ", lib.IP_MTR_MAGIC, BASE, self.pid, 0)
        templates = struct.pack("<IIQ", 0, 0, len(self.templates)) + bytes(self.templates)
        data = b"".join([head, templates, *self.frames])
        (self.folder / "raw" / "records.bin").write_bytes(data[: len(data) - cut])
        return self.folder


def packed_number(value: int) -> bytes:
    """A number of 1 to 9 bytes (trace/pack.h)."""
    count = (max(value.bit_length(), 1) + 6) // 7
    if count > 8:
        return b"\0" + struct.pack("<Q", value & (1 << 64) - 1)
    return (value << count | 1 << (count - 1)).to_bytes(count, "little")


def run(template: int, completed: int, *words: int) -> list[int]:
    """The record of a block's run."""
    return [template | completed << 32, *words]


def event(kind: int, *words: int) -> list[int]:
    """The record of an event."""
    return [kind | len(words) << 32, *words]


def entries(path: Path) -> list[tuple[int, int, int]]:
    """The entries of an uncompressed trace: type, size, address."""
    data = path.read_bytes()
    return list(struct.iter_unpack("<HHQ", data))
