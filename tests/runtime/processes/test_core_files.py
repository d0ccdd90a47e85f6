"""Core files hold the program's registers, in every thread: core(5), elf(5), linux/elfcore.h."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

SOURCE = Path(__file__).resolve().parents[2] / "guests" / "cores" / "crash.c"
NT_PRSTATUS, NT_PRFPREG, NT_AUXV, NT_SIGINFO = 1, 2, 6, 0x53494749
AT_ENTRY = 9
ID = 0x200000  # of the flags; nothing but popf changes it
REGISTERS_AT, XMM9_AT = 112, 160 + 9 * 16
NAMES = (
    "r15 r14 r13 r12 rbp rbx r11 r10 r9 r8 rax rcx rdx rsi rdi orig_rax rip cs eflags rsp ss fs_base gs_base"
)
CRASH = (0x1234, 0x5678, 0x9ABC)
SLEEPER = (0xAAAA, 0xBBBB, 0xCCCC)
SPINNER = (0x1111, 0x2222, 0x3333)


@dataclass
class Core:
    """What a debugger reads first."""

    threads: list[dict[str, int]] = field(default_factory=list)
    xmm9: list[bytes] = field(default_factory=list)
    signal: tuple[int, int, int] = (0, 0, 0)
    entry: int = 0

    @classmethod
    def read(cls, path: Path) -> Core:
        data, core = path.read_bytes(), cls()
        phoff, phentsize, phnum = (*struct.unpack_from("<Q", data, 32), *struct.unpack_from("<HH", data, 54))
        for i in range(phnum):
            kind, _, at, _, _, size = struct.unpack_from("<IIQQQQ", data, phoff + i * phentsize)
            if kind == 4:
                core._notes(data[at : at + size])
        return core

    def _notes(self, data: bytes) -> None:
        at = 0
        while at < len(data):
            name_size, size, kind = struct.unpack_from("<III", data, at)
            at += 12 + (name_size + 3 & ~3)
            note = data[at : at + size]
            at += size + 3 & ~3
            if kind == NT_PRSTATUS:
                names = NAMES.split()
                values = struct.unpack_from(f"<{len(names)}Q", note, REGISTERS_AT)
                self.threads.append(dict(zip(names, values, strict=True)))
            elif kind == NT_PRFPREG:
                self.xmm9.append(note[XMM9_AT : XMM9_AT + 16])
            elif kind == NT_SIGINFO:
                signo, _, code, _, address = struct.unpack_from("<iiiIQ", note)
                self.signal = (signo, code, address)
            elif kind == NT_AUXV:
                pairs = struct.iter_unpack("<QQ", note)
                self.entry = next(value for tag, value in pairs if tag == AT_ENTRY)

    def known(self, thread: dict[str, int]) -> tuple[int, int, int]:
        return thread["r12"], thread["r13"], thread["rbx"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> str:
    out = tmp_path_factory.mktemp("core") / "crash"
    subprocess.run(["gcc", "-O1", "-g", "-pthread", "-w", "-o", str(out), str(SOURCE)], check=True)
    return str(out)


def _dump(command: list[str], folder: Path) -> Core | None:
    """The core file of a run, if this machine writes one to the current folder."""
    folder.mkdir()
    unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            capture_output=True,
            timeout=90,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, unlimited),
        )
    except subprocess.SubprocessError:
        return None  # the hard limit forbids it
    assert done.returncode < 0, done.stderr
    files = list(folder.glob("*core*"))
    return Core.read(files[0]) if files else None


@pytest.mark.parametrize("tool", ["none", "memcheck"])
@pytest.mark.parametrize(
    "words", [["segv"], ["abort"], ["segv", "threads"], ["abort", "threads"]], ids="-".join
)
def test_registers_as_native(program: str, words: list[str], tool: str, tmp_path: Path) -> None:
    """Registers, vector registers, the place of each thread, and the signal are those of a native run."""
    native = _dump([program, *words], tmp_path / "native")
    if native is None:
        pytest.skip("core files are piped away or forbidden here")
    command = [sys.executable, "-m", "interpose", f"--tool={tool}", "-q", program, *words]
    got = _dump(command, tmp_path / "got")
    assert got is not None
    assert len(got.threads) == len(native.threads) == (3 if len(words) > 1 else 1)
    assert got.signal[:2] == native.signal[:2]
    first, wanted = got.threads[0], native.threads[0]
    if words[0] == "segv":
        assert got.known(first) == native.known(wanted) == CRASH
        assert first["rip"] - got.entry == wanted["rip"] - native.entry
        assert got.xmm9[0] == native.xmm9[0] == b"vector register\0"
        assert got.signal == native.signal
    else:
        assert first["rip"] & 0xFFF == wanted["rip"] & 0xFFF
        assert (first["rax"], first["rdi"] - first["rsi"]) == (wanted["rax"], wanted["rdi"] - wanted["rsi"])
    assert all(thread["fs_base"] for thread in got.threads)
    assert {t["eflags"] & ID for t in (*got.threads, *native.threads)} == {ID}
    if len(words) > 1:
        assert sorted(map(got.known, got.threads[1:])) == [SPINNER, SLEEPER]
        place = {native.known(t): t["rip"] - native.entry for t in native.threads}
        for thread in got.threads[1:]:
            away = thread["rip"] - got.entry - place[got.known(thread)]
            assert away == 0 or (got.known(thread) == SPINNER and abs(away) <= 3)
