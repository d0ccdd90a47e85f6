"""Which file runs for a command: PATH, ``#!`` scripts, and whether the ELF file can be run at all.

The rules are those of execvp(3), execve(2) and a shell; the answers to what cannot run are those of
docs/spec/output.md sections 8 and 9: 127 not found, 126 found but not runnable.
"""

from __future__ import annotations

import errno
import os
import stat

from interpose.elf.headers import (
    ELFCLASS64,
    EM_X86_64,
    ET_DYN,
    ET_EXEC,
    MAGIC,
    PT_INTERP,
    PT_LOAD,
    HeaderError,
    Headers,
)
from interpose.errors import ProgramError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

SCRIPT_LINE = 256  # BINPRM_BUF_SIZE: the kernel looks no further
MAX_SCRIPTS = 5  # interpreters of interpreters, then ELOOP
DEFAULT_PATH = "/bin:/usr/bin"  # execvp's without PATH
SHELL = "/bin/sh"

_PN_XNUM = 0xFFFF  # the count is elsewhere; the kernel does not look there
_MACHINES = {
    3: "i386",
    8: "mips",
    20: "ppc",
    21: "ppc64",
    22: "s390",
    40: "arm",
    183: "aarch64",
    243: "riscv",
}

# What our own parts occupy at fixed places in the client (abi/space.h), and where its memory ends
# without a shadow (the runtime says when there is one, and the program does not fit).
OWN_RANGES = ((0x5D000000, 0x7D000000), (0x7DC00000, 0x7FE00000), (0x0000550000000000, 0x0000558000000000))
CLIENT_END = 0x00007FF000000000


class Program:
    """An ELF file to run and the arguments it gets."""

    __slots__ = ("argv", "command", "path")

    def __init__(self, path: str, argv: tuple[str, ...], command: str) -> None:
        self.path = path  # the ELF file
        self.argv = argv  # with those that #! lines add
        self.command = command  # the file that was asked for


def resolve(words: Sequence[str], environ: Mapping[str, str]) -> Program:
    """The program for command words, found as a shell finds it."""
    command = find(words[0], environ)
    return resolve_path(command, words)


def find(name: str, environ: Mapping[str, str]) -> str:
    """execvp's search: PATH for a name without slash; what may not be run is passed over."""
    if "/" in name:
        return name
    refused = None
    for folder in environ.get("PATH", DEFAULT_PATH).split(":") if name else ():
        path = os.path.join(folder, name) if folder else f"./{name}"
        try:
            status = os.stat(path)
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and os.access(path, os.X_OK, effective_ids=True):
            return path
        if not stat.S_ISDIR(status.st_mode):
            refused = refused or path
    if refused is not None:
        return refused  # opening it tells why
    raise ProgramError(name or "''", "command not found", ProgramError.NOT_FOUND)


def gained_by(path: str) -> str:
    """What executing a file natively gives this user: ``set-uid``, ``set-gid`` or nothing (execve(2))."""
    status = os.stat(path)
    if status.st_mode & stat.S_ISUID and status.st_uid != os.geteuid():
        return "set-uid"
    group_runs = stat.S_ISGID | stat.S_IXGRP
    if status.st_mode & group_runs == group_runs and status.st_gid != os.getegid():
        return "set-gid"
    return ""


def resolve_path(path: str, argv: Sequence[str]) -> Program:
    """The ELF file behind a path, through ``#!`` lines; ``argv[0]`` is replaced where a script stands."""
    command = path
    words = tuple(argv)
    for _ in range(MAX_SCRIPTS + 1):
        head = _read_head(path, command)
        if head[:4] == MAGIC:
            check_elf(path)
            return Program(path, words, command)
        interpreter = script_interpreter(head)
        if interpreter is None:
            if path != command or not _is_text(head):
                raise ProgramError(command, "cannot execute binary file: Exec format error")
            # ENOEXEC: shells and execvp run it themselves.
            interpreter = [SHELL]
        words = (*interpreter, path, *words[1:])
        path = interpreter[0]
    raise ProgramError(command, os.strerror(errno.ELOOP))


def script_interpreter(head: bytes) -> list[str] | None:
    """Interpreter and its optional single argument of a ``#!`` line, as binfmt_script reads it."""
    if head[:2] != b"#!":
        return None
    line, newline, _ = head[2:SCRIPT_LINE].partition(b"\n")
    line = line.strip(b" \t") if newline else line.lstrip(b" \t")
    parts = line.split(None, 1) if b"\0" not in line else []
    if not newline and len(head) >= SCRIPT_LINE and len(parts) < 2:
        return None  # the kernel refuses an interpreter name that may be cut off
    if not parts:
        return None
    return [os.fsdecode(part.strip(b" \t")) for part in parts]


def _is_text(head: bytes) -> bool:
    """A shell's guess: no NUL in the first line."""
    return b"\0" not in head.split(b"\n", 1)[0]


def _refusal(path: str, command: str, error: OSError) -> ProgramError:
    code = ProgramError.NOT_FOUND if error.errno == errno.ENOENT else ProgramError.NOT_RUNNABLE
    if path != command:
        return ProgramError(command, f"{path}: bad interpreter: {error.strerror}", code)
    return ProgramError(command, error.strerror or "cannot be read", code)


def _read_head(path: str, command: str) -> bytes:
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise ProgramError(command, "is a directory" if path == command else f"{path}: is a directory")
        if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK, effective_ids=True):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except ProgramError:
        raise
    except ValueError:
        raise ProgramError(repr(command), os.strerror(errno.ENOENT), ProgramError.NOT_FOUND) from None
    except OSError as error:
        raise _refusal(path, command, error) from None
    try:
        return os.read(descriptor, SCRIPT_LINE)
    except OSError as error:
        raise _refusal(path, command, error) from None
    finally:
        os.close(descriptor)


def check_elf(path: str, *, interpreter: bool = False) -> None:
    """Refuse, in words, an ELF file that cannot be run: what the kernel answers with ENOEXEC or a signal."""
    with open(path, "rb", buffering=0) as file:

        def read(offset: int, size: int, what: str) -> bytes:
            data = os.pread(file.fileno(), size, offset) if offset + size < 1 << 63 else b""
            if len(data) < size:
                end = "within its header" if what == "ELF header" else "before its program headers do"
                raise ProgramError(path, f"truncated ELF file: it ends {end}")
            return data

        headers = Headers(read)
        _check_header(path, headers)
        try:
            rows = headers.program_headers()
        except HeaderError:
            raise ProgramError(path, "bad ELF file: it has no usable program headers") from None
        _check_segments(path, headers.type, rows, os.fstat(file.fileno()).st_size)
        if interpreter:
            return
        for kind, _, offset, _, _, filesz, _, _ in rows:
            if kind == PT_INTERP:
                _check_interpreter(path, read(offset, filesz, "interpreter name"))
                return


def _check_header(path: str, headers: Headers) -> None:
    if not headers.is_x86_64:
        machine = headers.machine
        name = _MACHINES.get(machine, str(machine))
        if machine == EM_X86_64:
            what = "32-bit pointers" if headers.ident[4] != ELFCLASS64 else "big-endian data"
            name = f"x86-64 with {what}"
        raise ProgramError(
            path, f"cannot run a program of architecture {name}; only x86-64 programs run here"
        )
    if headers.type not in (ET_EXEC, ET_DYN):
        what = {1: "an object file", 4: "a core dump"}.get(headers.type, f"of ELF type {headers.type}")
        raise ProgramError(path, f"is no program but {what}")
    if not 0 < headers.phnum < _PN_XNUM:
        raise ProgramError(path, "bad ELF file: it has no usable program headers")


def _check_segments(path: str, kind: int, headers: list[tuple[int, ...]], size: int) -> None:
    end = 0
    loads = 0
    for kind_, _, offset, vaddr, _, filesz, memsz, _ in headers:
        if kind_ not in (PT_LOAD, PT_INTERP):
            continue
        if filesz and offset + filesz > size:
            raise ProgramError(path, "truncated ELF file: it ends before its segments do")
        if kind_ == PT_INTERP:
            if not 2 <= filesz <= 4096:
                raise ProgramError(path, "bad ELF file: the name of its interpreter is too short or too long")
            continue
        loads += 1
        if memsz < filesz or vaddr + memsz > CLIENT_END or (filesz and (offset - vaddr) % 4096):
            raise ProgramError(path, "bad ELF file: a segment has impossible addresses")
        if vaddr < end & ~0xFFF:
            raise ProgramError(path, "bad ELF file: its segments are not in order")
        if kind == ET_EXEC and memsz:
            if vaddr < 4096:
                raise ProgramError(path, "bad ELF file: a segment lies on page zero")
            for lo, hi in OWN_RANGES:
                if vaddr < hi and vaddr + memsz > lo:
                    raise ProgramError(
                        path,
                        f"is linked at {vaddr:#x}, and {lo:#x} to {hi:#x} is taken here; link it elsewhere",
                    )
        end = vaddr + memsz
    if loads == 0:
        raise ProgramError(path, "bad ELF file: nothing in it is to be loaded")


def _check_interpreter(path: str, name: bytes) -> None:
    if not name.endswith(b"\0"):
        raise ProgramError(path, "bad ELF file: the name of its interpreter has no end")
    loader = os.fsdecode(name.partition(b"\0")[0])
    if _read_head(loader, path)[:4] != MAGIC:
        raise ProgramError(path, f"{loader}: bad interpreter: {os.strerror(errno.ENOEXEC)}")
    check_elf(loader, interpreter=True)
