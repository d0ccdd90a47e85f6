"""What a program sees of itself and may do with its address space: the same as in a native run."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from life.running import TOOLS, command, compile_guest, environment, run

GUESTS = {
    "self.c": ["x", "", "y"],
    "memory.c": [],
    "exec_stack.c": [],
    "exceptions.cpp": [],
    "procfs.c": [],
    "procmap_query.c": [],
    "new_handler.cpp": [],
    "stack.c": [],
}
# Without capabilities the kernel does not let us name the program's executable (identity.c).
PLAIN = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]


@pytest.mark.parametrize("far", ["no", "yes"])
@pytest.mark.parametrize("tool", TOOLS)
@pytest.mark.parametrize("name", GUESTS)
def test_same_as_native(tmp_path: Path, name: str, tool: str, far: str) -> None:
    program = f"./{compile_guest(f'identity/{name}', tmp_path).name}"
    how = {"cwd": tmp_path, "env": environment(ONE="1", EMPTY="")}
    native = run([program, *GUESTS[name]], **how)
    assert native.returncode == 0 and len(native.stdout.splitlines()) >= 3
    ours = run([*command(f"--tool={tool}", "-q", f"--far-images={far}"), program, *GUESTS[name]], **how)
    assert ours.stdout.splitlines() == native.stdout.splitlines()
    assert ours.returncode == native.returncode
    assert "interpose:" not in ours.stderr


def test_second_c_library_is_left_alone_at_the_end(tmp_path: Path) -> None:
    """__libc_freeres is for the C library whose exit ran."""
    program = f"./{compile_guest('identity/static_dlopen.c', tmp_path, '-static').name}"
    native = run([program], cwd=tmp_path)
    ours = run([*command("--tool=memcheck", "-q"), program], cwd=tmp_path)
    assert (ours.returncode, ours.stdout) == (native.returncode, native.stdout) == (3, "loaded 1.0\n")


@pytest.mark.parametrize("far", ["no", "yes"])
def test_vdso(tmp_path: Path, far: str) -> None:
    program = f"./{compile_guest('identity/vdso.c', tmp_path).name}"
    native = run([program], cwd=tmp_path)
    ours = run([*command("--tool=none", "-q", f"--far-images={far}"), program], cwd=tmp_path)
    assert ours.stdout == native.stdout and ours.returncode == native.returncode == 0


def test_no_vdso_where_system_calls_are_checked(tmp_path: Path) -> None:
    program = f"./{compile_guest('identity/vdso.c', tmp_path).name}"
    for options in (["--tool=memcheck"], ["--tool=none", "--vdso=no"]):
        assert run([*command(*options, "-q"), program], cwd=tmp_path).stdout == "present 0\n"


@pytest.mark.parametrize("name", ["self.c", "procfs.c"])
def test_same_without_capabilities(tmp_path: Path, name: str) -> None:
    program = f"./{compile_guest(f'identity/{name}', tmp_path).name}"
    how = {"cwd": tmp_path, "env": environment(ONE="1")}
    native = run([*PLAIN, program, *GUESTS[name]], **how)
    assert native.returncode == 0
    ours = run([*PLAIN, *command("--tool=none", "-q"), program, *GUESTS[name]], **how)
    assert ours.stdout.splitlines() == native.stdout.splitlines()
    assert ours.returncode == 0


@pytest.mark.parametrize("tool", TOOLS)
def test_what_pages_are_in_use(tmp_path: Path, tool: str) -> None:
    """Status, statm and smaps agree; natively they may not (the kernel sums up late)."""
    program = f"./{compile_guest('identity/usage.c', tmp_path).name}"
    facts = "status 1, statm 1, anonymous 1, parts 1, enough 1\n"
    expected = "".join(f"{when}: {facts}" for when in ("small pages", "huge zeros", "huge page"))
    assert run([*command(f"--tool={tool}", "-q"), program], cwd=tmp_path).stdout == expected


@pytest.mark.parametrize("tool", TOOLS)
def test_hard_limit_on_memory(tmp_path: Path, tool: str) -> None:
    """A limit that the runtime cannot lift counts the shadow, too: the program runs out earlier, no worse."""
    import resource

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))

    program = f"./{compile_guest('identity/exhausted.c', tmp_path).name}"
    native = run([*PLAIN, program], cwd=tmp_path, preexec_fn=limited)
    ours = run([*PLAIN, *command(f"--tool={tool}", "-q"), program], cwd=tmp_path, preexec_fn=limited)
    assert ours.stdout == native.stdout and ours.stderr == ""
    assert ours.returncode == native.returncode == 0


@pytest.mark.parametrize("tool", TOOLS)
def test_others_see_the_program(tmp_path: Path, tool: str) -> None:
    """/proc/PID/exe as another process reads it, where the kernel lets us name the program."""
    effective = int(re.search(r"CapEff:\s*(\w+)", Path("/proc/self/status").read_text()).group(1), 16)  # type: ignore[union-attr]
    if not effective & (1 << 40 | 1 << 21):  # CAP_CHECKPOINT_RESTORE, CAP_SYS_ADMIN
        pytest.skip("needs CAP_CHECKPOINT_RESTORE")
    script = "readlink /proc/$$/exe; tr '\\0' ' ' < /proc/$$/cmdline; cat /proc/$$/comm; true"
    ours = run([*command(f"--tool={tool}", "-q"), "/bin/bash", "-c", script, "name"], cwd=tmp_path)
    native = run(["/bin/bash", "-c", script, "name"], cwd=tmp_path)
    assert ours.stdout == native.stdout and "/bash" in native.stdout


@pytest.mark.parametrize("tool", TOOLS)
def test_core_file_holds_the_program_only(tmp_path: Path, tool: str) -> None:
    if Path("/proc/sys/kernel/core_pattern").read_text().strip() != "core":
        pytest.skip("core files go elsewhere on this machine")
    source = tmp_path / "dies.c"
    source.write_text("#include <stdlib.h>\nint main(void) { abort(); }\n")
    import resource
    import subprocess

    subprocess.run(["gcc", str(source), "-o", str(tmp_path / "dies")], check=True)

    def cores() -> None:
        hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
        resource.setrlimit(resource.RLIMIT_CORE, (hard, hard))

    died = run([*command(f"--tool={tool}", "-q"), "./dies"], cwd=tmp_path, preexec_fn=cores)
    assert died.returncode == -6
    (core,) = tmp_path.glob("core*")
    assert core.stat().st_blocks * 512 < 32 << 20
