"""Finding and checking the program: execvp, ``#!`` lines, ELF files that cannot run."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from interpose import program
from interpose.errors import ProgramError
from interpose.program import check_elf, find, resolve, script_interpreter

TRUE = os.path.realpath("/bin/true")


def make(path: Path, content: bytes | str, mode: int = 0o755) -> str:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)
    return str(path)


def refusal(words, environ=None) -> tuple[str, int]:
    with pytest.raises(ProgramError) as caught:
        resolve(words, environ or {})
    (line,) = caught.value.lines()
    return line, caught.value.exit_code


def test_path_search(tmp_path):
    first, second = tmp_path / "1", tmp_path / "2"
    first.mkdir()
    second.mkdir()
    (first / "both").mkdir()
    elf = Path(TRUE).read_bytes()
    make(first / "tool", elf, 0o644)
    wanted = make(second / "tool", elf)
    both = make(second / "both", elf)
    environ = {"PATH": f"{first}:/nonexistent:{second}"}
    assert find("tool", environ) == wanted
    assert find("both", environ) == both
    assert resolve(["tool", "x"], environ).argv == ("tool", "x")
    assert refusal(["tool"], {"PATH": str(first)}) == (f"{first}/tool: Permission denied", 126)
    assert refusal(["no-such"], environ) == ("no-such: command not found", 127)
    assert refusal(["both"], {"PATH": str(first)}) == ("both: command not found", 127)


def test_empty_path_element_is_the_current_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(tmp_path / "here", Path(TRUE).read_bytes())
    assert find("here", {"PATH": ":/nonexistent"}) == "./here"


def test_default_path():
    assert find("sh", {}) in ("/bin/sh", "/usr/bin/sh")


@pytest.mark.parametrize(
    ("name", "line", "code"),
    [
        ("/nonexistent", "/nonexistent: No such file or directory", 127),
        ("/etc/passwd/x", "/etc/passwd/x: Not a directory", 126),
        ("/etc", "/etc: is a directory", 126),
        ("/etc/passwd", "/etc/passwd: Permission denied", 126),
        ("/dev/null", "/dev/null: Permission denied", 126),
        ("", "'': command not found", 127),
    ],
)
def test_what_cannot_run(name, line, code):
    assert refusal([name]) == (line, code)


@pytest.mark.parametrize(
    ("head", "parts"),
    [
        (b"#!/bin/sh\necho", ["/bin/sh"]),
        (b"#! /bin/sh -e -u \n", ["/bin/sh", "-e -u"]),
        (b"#!\t/usr/bin/env\tpython3\n", ["/usr/bin/env", "python3"]),
        (b"#!/bin/sh", ["/bin/sh"]),
        (b"#!\n", None),
        (b"echo", None),
        (b"#!/" + b"x" * 300, None),
        (b"#!/bin/sh\0\n", None),
    ],
)
def test_script_lines(head, parts):
    assert script_interpreter(head) == parts


def test_scripts_become_arguments_of_their_interpreter(tmp_path):
    script = make(tmp_path / "s", "#!/bin/sh -e\nexit 0\n")
    found = resolve([script, "a", "b"], {})
    assert found.path == "/bin/sh"
    assert found.argv == ("/bin/sh", "-e", script, "a", "b")
    assert found.command == script
    nested = make(tmp_path / "n", f"#!{script}\n")
    assert resolve([nested, "x"], {}).argv == ("/bin/sh", "-e", script, nested, "x")


def test_script_arguments_agree_with_the_kernel(tmp_path):
    script = make(tmp_path / "s", "#! /bin/echo  one  two \t\n")
    nested = make(tmp_path / "n", f"#!{script} arg\n")
    native = subprocess.run([nested, "a", "b c"], capture_output=True, check=True).stdout
    found = resolve([nested, "a", "b c"], {})
    assert subprocess.run(found.argv, executable=found.path, capture_output=True, check=True).stdout == native


def test_script_depth_agrees_with_the_kernel(tmp_path):
    path = make(tmp_path / "s0", "#!/bin/true\n")
    for depth in range(1, 9):
        try:
            os.waitstatus_to_exitcode(os.waitpid(os.posix_spawn(path, [path], {}), 0)[1])
            native = True
        except OSError:
            native = False
        try:
            resolve([path], {})
            ours = True
        except ProgramError as error:
            ours = False
            assert error.exit_code == 126
        assert ours == native, depth
        path = make(tmp_path / f"s{depth}", f"#!{path}\n")


def test_text_without_a_line_is_for_the_shell(tmp_path):
    text = make(tmp_path / "t", "exit 3\n")
    assert resolve([text, "a"], {}).argv == ("/bin/sh", text, "a")
    empty = make(tmp_path / "e", "")
    assert resolve([empty], {}).path == "/bin/sh"
    binary = make(tmp_path / "b", b"\1\2\0\3")
    assert refusal([binary]) == (f"{binary}: cannot execute binary file: Exec format error", 126)


def test_bad_interpreters(tmp_path):
    missing = make(tmp_path / "m", "#!/no/such\n")
    assert refusal([missing]) == (f"{missing}: /no/such: bad interpreter: No such file or directory", 127)
    refused = make(tmp_path / "r", "#!/etc/passwd\n")
    assert refusal([refused]) == (f"{refused}: /etc/passwd: bad interpreter: Permission denied", 126)


# -- ELF files -----------------------------------------------------------------------------------

E_TYPE, E_MACHINE, E_PHOFF, E_PHENTSIZE, E_PHNUM = (16, "<H"), (18, "<H"), (32, "<Q"), (54, "<H"), (56, "<H")


def patched(*changes: tuple[tuple[int, str], int]) -> bytes:
    data = bytearray(Path(TRUE).read_bytes())
    for (offset, form), value in changes:
        struct.pack_into(form, data, offset, value)
    return bytes(data)


def segment(kind: int, field: int, value: int) -> bytes:
    """/bin/true with one 8-byte field of its first program header of a kind changed."""
    data = bytearray(Path(TRUE).read_bytes())
    (offset,) = struct.unpack_from("<Q", data, 32)
    (count,) = struct.unpack_from("<H", data, 56)
    for index in range(count):
        at = offset + index * 56
        if struct.unpack_from("<I", data, at)[0] == kind:
            struct.pack_into("<Q", data, at + field, value)
            return bytes(data)
    raise AssertionError(kind)


P_OFFSET, P_VADDR, P_FILESZ, P_MEMSZ = 8, 16, 32, 40
LOAD, INTERP = 1, 3


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (Path(TRUE).read_bytes()[:40], "truncated ELF file: it ends within its header"),
        (Path(TRUE).read_bytes()[:100], "truncated ELF file: it ends before its program headers do"),
        (Path(TRUE).read_bytes()[:3000], "truncated ELF file: it ends before its segments do"),
        (patched((E_MACHINE, 183)), "architecture aarch64"),
        (patched((E_MACHINE, 3)), "architecture i386"),
        (patched((E_MACHINE, 999)), "architecture 999"),
        (patched(((4, "<B"), 1)), "32-bit pointers"),
        (patched(((5, "<B"), 2)), "big-endian data"),
        (patched((E_TYPE, 1)), "is no program but an object file"),
        (patched((E_TYPE, 4)), "is no program but a core dump"),
        (patched((E_PHENTSIZE, 32)), "no usable program headers"),
        (patched((E_PHNUM, 0)), "no usable program headers"),
        (patched((E_PHNUM, 0xFFFF)), "no usable program headers"),
        (patched((E_PHOFF, 1 << 63)), "truncated ELF file"),
        (patched((E_PHOFF, (1 << 63) - 1)), "truncated ELF file"),
        (segment(LOAD, P_MEMSZ, 0), "impossible addresses"),
        (segment(LOAD, P_VADDR, 1 << 47), "impossible addresses"),
        (segment(LOAD, P_VADDR, 0xFFFFFFFFFFFFF000), "impossible addresses"),
        (segment(LOAD, P_VADDR, 1), "impossible addresses"),
        (segment(LOAD, P_MEMSZ, 0x7FFFFFFFF000), "impossible addresses"),
        (segment(LOAD, P_MEMSZ, 0x10000000), "segments are not in order"),
        (segment(LOAD, P_OFFSET, 1 << 62), "truncated ELF file"),
        (segment(INTERP, P_FILESZ, 1), "name of its interpreter"),
        (segment(INTERP, P_FILESZ, 5), "name of its interpreter has no end"),
    ],
)
def test_hostile_elf_files(tmp_path, content, words):
    path = make(tmp_path / "bad", content)
    line, code = refusal([path])
    assert code == 126 and line.startswith(f"{path}: ") and words in line


def test_elf_interpreter_is_checked(tmp_path):
    data = Path(TRUE).read_bytes()
    name = b"/lib64/ld-linux-x86-64.so.2"
    assert data.count(name) == 1
    missing = make(tmp_path / "m", data.replace(name, b"/lib64/ld-linux-x86-64.so.9"))
    line, code = refusal([missing])
    assert line == f"{missing}: /lib64/ld-linux-x86-64.so.9: bad interpreter: No such file or directory"
    assert code == 127


def test_what_the_kernel_does_not_look_at(tmp_path):
    """Versions, and what follows the first NUL in the name of the interpreter."""
    data = bytearray(Path(TRUE).read_bytes())
    data[6] = data[20] = 99
    at = data.index(b"/lib64/ld-linux-x86-64.so.2")
    with TemporaryDirectory(dir="/tmp") as folder:  # a name that fits
        loader = f"{folder}/l"
        os.symlink("/lib64/ld-linux-x86-64.so.2", loader)
        data[at : at + len(loader) + 1] = loader.encode() + b"\0"
        path = make(tmp_path / "odd", bytes(data))
        assert subprocess.run([path], check=False).returncode == 0
        check_elf(path)
        done = subprocess.run([sys.executable, "-m", "interpose", "--tool=none", "-q", path], check=False)
        assert done.returncode == 0


def test_good_programs_pass(tmp_path):
    check_elf(TRUE)
    source = make(tmp_path / "x.c", "int main(void) { return 0; }\n", 0o644)
    for index, flags in enumerate((["-no-pie"], ["-static"], ["-static-pie"])):
        out = str(tmp_path / f"x{index}")
        subprocess.run(["gcc", *flags, source, "-o", out], check=True)
        check_elf(out)


def test_program_linked_where_we_live(tmp_path):
    source = make(tmp_path / "x.c", "void _start(void) { for (;;); }\n", 0o644)
    out = str(tmp_path / "x")
    flags = ["-nostdlib", "-static", "-no-pie", "-Wl,-Ttext-segment=0x7c100000"]
    subprocess.run(["gcc", *flags, source, "-o", out], check=True)
    line, code = refusal([out])
    assert "is linked at 0x7c100000" in line and code == 126


def test_own_ranges_are_those_of_the_contract():
    from interpose.jit._native import lib

    assert program.OWN_RANGES == (
        (lib.IP_CACHE_BASE, lib.IP_LEFT_LO),
        (lib.IP_LEFT_HI, lib.IP_LOW_END),
        (lib.IP_OWN_BASE, lib.IP_OWN_END),
    )
    assert lib.IP_CLIENT_END_BARE == program.CLIENT_END


@pytest.mark.parametrize(
    ("mode", "gained"), [(0o4755, "set-uid"), (0o2755, "set-gid"), (0o2745, ""), (0o755, "")]
)
def test_rights_that_are_not_gained(tmp_path, monkeypatch, mode, gained):
    path = make(tmp_path / "x", Path(TRUE).read_bytes(), mode)
    assert program.gained_by(path) == ""  # its owner's own
    monkeypatch.setattr(os, "geteuid", lambda: 4242)
    monkeypatch.setattr(os, "getegid", lambda: 4242)
    assert program.gained_by(path) == gained
