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
        self.path: dict[int, int] = {}
        self.after: dict[tuple[int, int], int] = {}
        self.before: dict[tuple[int, int], list[int]] = {}
        """What trace/pack.h keeps of each thread, by thread number: the path, what followed a path, words."""
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
            insn = ffi.new("struct ip_tr_insn *", {"rep_words": NO_WORD, "n_words": words, **fields})
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
        data, lengths = b"", b""
        while words:
            head, high = words[0] & 0xFFFFFFFF, words[0] >> 32
            if head < lib.IP_TR_EVENTS:
                record, words = words[: 1 + high], words[1 + high :]
                lengths += b"\5"
                data += b"".join(struct.pack("<Q", one & (1 << 64) - 1) for one in record)
            else:
                count = self.words.get(head, 0)
                values, words = words[1 : 1 + count], words[1 + count :]
                more_data, more_lengths = self._packed(number, head, high, values)
                data += more_data
                lengths += more_lengths
        packed = struct.pack("<II", len(data), len(lengths)) + data + lengths
        self.frames.append(struct.pack("<IIQ", tid, number, len(packed)) + packed)

    def _packed(self, number: int, head: int, completed: int, values: list[int]) -> tuple[bytes, bytes]:
        """A run as trace/pack.h has it: data, and lengths."""
        key = ((head - BASE) // 8 << 8 | completed) & 0xFFFFFFFF
        path = self.path.get(number, 0)
        missed = key ^ self.after.get((number, path >> 19), 0)
        self.after[number, path >> 19] = key
        self.path[number] = ((path << 7) + key * 0x9E3779B1) & 0xFFFFFFFF
        data, sizes = packed_number(missed)
        halves: list[int] = []
        before = self.before.setdefault((number, head), [0] * len(values))
        for i, value in enumerate(values if completed else ()):
            more, size = packed_number(signed(value - before[i]), negative=True)
            data += more
            halves.append(size)
            before[i] = value
        halves.append(0)
        return data, bytes([sizes, *(a | b << 4 for a, b in zip(halves[::2], halves[1::2], strict=False))])

    def save(self, cut: int = 0) -> Path:
        """Write the files, without the last ``cut`` bytes."""
        (self.folder / "raw").mkdir(parents=True, exist_ok=True)
        self.run.save(str(self.folder))
        block, insn, access = (ffi.sizeof(f"struct ip_tr_{name}") for name in ("block", "insn", "access"))
        layout = block << 32 | insn << 16 | access
        head = struct.pack("<QQQQ", lib.IP_MTR_MAGIC, BASE, self.pid, layout)
        templates = struct.pack("<IIQ", 0, 0, len(self.templates)) + bytes(self.templates)
        data = b"".join([head, templates, *self.frames])
        (self.folder / "raw" / "records.bin").write_bytes(data[: len(data) - cut])
        return self.folder


def signed(value: int) -> int:
    """A word as a signed one."""
    return (value + (1 << 63)) % (1 << 64) - (1 << 63)


def packed_number(value: int, *, negative: bool = False) -> tuple[bytes, int]:
    """A number in as few bytes as it needs, and how many these are (trace/pack.h)."""
    bits = (value if value >= 0 else ~value).bit_length()
    count = (bits + negative + 7) // 8 if value else 0
    return value.to_bytes(count, "little", signed=negative), count


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
