"""Instructions as text, by capstone; what it does not know has the engine's own name."""

from __future__ import annotations

from interpose.formats.instructions import engine
from interpose.jit._native import ffi, lib


class Disassembler:
    """``is_att``: AT&T's syntax."""

    def __init__(self, is_att: bool = False) -> None:
        self._capstone = engine(is_att=is_att)
        self._insn = ffi.new("struct ip_insn *")
        self._names: dict[bytes, str] = {}

    def mnemonic(self, code: bytes) -> str:
        """The opcode's name."""
        if code not in self._names:
            for _, _, name, _ in self._capstone.disasm_lite(code, 0, 1):
                # Prefixes are no opcode.
                self._names[code] = name.rpartition(" ")[2]
                break
            else:
                self._names[code] = self._own_name(code)
        return self._names[code]

    def _own_name(self, code: bytes) -> str:
        if lib.ip_decode(code.ljust(16, b"\0"), len(code), 0, self._insn) != len(code):
            return "(bad)"
        return ffi.string(lib.ip_mnem_name(self._insn.mnem)).decode().lower()

    def text(self, pc: int, code: bytes) -> str:
        """The whole instruction."""
        for _, _, name, operands in self._capstone.disasm_lite(code, pc, 1):
            return f"{name:<8} {operands}".rstrip()
        return self._own_name(code)
