"""The client's layers: what a file includes and what its object refers to never lies above it."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from interpose import tools

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "interpose"
LOWEST = {"abi": 0, "jit": 1, "runtime/base": 1, "runtime/core": 2, "jit/client": 3}
HIGHEST = {"requests": 4, "heap": 4, "trace": 4, "shadow": 5, "tools": 6}
RUNTIME_PARTS = ("memory", "signals", "syscalls", "processes", "procfs", "ptrace", "loader", "debug")
RANK = LOWEST | {f"runtime/{part}": 3 for part in RUNTIME_PARTS} | HIGHEST
FOLDERS = ("runtime", "requests", "heap", "trace", "shadow")
LINKERS = ("__start_rt_", "__stop_rt_", "__start_ip_tool_", "__stop_ip_tool_")
# Declared here, a name may be defined above whoever uses it: the linker binds it.
SEAMS = ("runtime/seam.h", "runtime/hooks.h", "heap/heap_hooks.h", "trace/trace_hooks.h", "jit/ways.h")
FLAGS = ["-std=gnu17", "-O1", "-ffreestanding", "-fno-pic", "-mgeneral-regs-only", "-fno-stack-protector"]


def client_files() -> Iterator[Path]:
    for folder in FOLDERS:
        yield from (PACKAGE / folder).rglob("*.[chS]")
    yield from (PACKAGE / "jit" / "client").glob("*.[chS]")
    stages = re.search(r"foreach name : \[([^]]+)\]", (PACKAGE / "runtime/meson.build").read_text())
    assert stages is not None
    for name in re.findall(r"'(\w+)'", stages[1]):
        yield PACKAGE / "jit" / f"{name}.c"
    for tool in tools.names():
        yield from (PACKAGE / "tools" / tool / "client").glob("*.[chS]")
        yield from (PACKAGE / "tools" / tool / "translate").glob("*.c")


def layer(path: Path) -> str:
    """The key of RANK for a file of the client; of a header that all share: ``seam``."""
    parts = path.relative_to(PACKAGE).parts
    if not (PACKAGE / path).exists():
        return "abi"  # of include/: the requests' numbers
    if parts[:2] == ("jit", "client"):
        return "jit/client"
    if parts[0] != "runtime":
        return parts[0]
    return "/".join(parts[:2]) if len(parts) > 2 else "seam"


def upward_includes(path: Path) -> list[str]:
    own = layer(path)
    found = []
    for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.MULTILINE):
        if "/" not in name or name in SEAMS or own == "seam":
            continue  # generated, or one that all may use
        if RANK.get(layer(PACKAGE / name), 9) > RANK[own]:
            found.append(f"{path.relative_to(ROOT)} includes {name}")
    return found


def test_no_include_leads_upward() -> None:
    assert [line for path in client_files() for line in upward_includes(path)] == []


def test_every_folder_of_the_runtime_has_a_place() -> None:
    folders = {layer(path) for path in client_files()} - {"seam"}
    assert folders <= set(RANK), folders - set(RANK)


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> dict[Path, Path]:
    """Every C and assembly file of the client, compiled alone."""
    out = tmp_path_factory.mktemp("objects")
    subprocess.run([sys.executable, str(PACKAGE / "jit/gen_x86_tables.py"), str(out)], check=True)
    (out / "build_id.h").write_text("#define IP_BUILD_ID 0u\n")
    sources = [path for path in client_files() if path.suffix != ".h"]

    def build(number: int) -> Path:
        target = out / f"{number}.o"
        source = str(sources[number])
        command = [
            "gcc",
            *FLAGS,
            f"-I{PACKAGE}",
            f"-I{ROOT / 'include'}",
            f"-I{out}",
            "-c",
            source,
            "-o",
            str(target),
        ]
        subprocess.run(command, check=True)
        return target

    with ThreadPoolExecutor(2) as pool:
        return dict(zip(sources, pool.map(build, range(len(sources))), strict=True))


def symbols(target: Path) -> tuple[set[str], set[str]]:
    """Names that an object defines for others, and those it lacks."""
    shown = subprocess.run(["nm", str(target)], capture_output=True, text=True, check=True).stdout
    defined, undefined = set(), set()
    for line in shown.splitlines():
        *_, kind, name = line.split()
        if kind == "U":
            undefined.add(name)
        elif kind.isupper():
            defined.add(name)
    return defined, undefined


def declared(header: str) -> set[str]:
    text = re.sub(r"/\*.*?\*/", "", (PACKAGE / header).read_text(), flags=re.DOTALL)
    return set(re.findall(r"\b([a-z]\w+)\(", text))


def test_no_symbol_is_bound_upward_but_through_a_seam(objects: dict[Path, Path]) -> None:
    seams = {name for header in SEAMS for name in declared(header)}
    tables = {source: symbols(target) for source, target in objects.items()}
    where: dict[str, list[Path]] = {}
    for source, (defined, _) in tables.items():
        for name in defined:
            where.setdefault(name, []).append(source)
    upward, unknown = [], []
    for source, (_, undefined) in tables.items():
        for name in sorted(undefined):
            if name not in where:
                if not name.startswith(LINKERS):
                    unknown.append(f"{source.relative_to(ROOT)} needs {name}")
                continue
            lowest = min(RANK[layer(other)] for other in where[name])
            if name not in seams and lowest > RANK[layer(source)]:
                upward.append(
                    f"{source.relative_to(ROOT)} needs {name} of {where[name][0].relative_to(ROOT)}"
                )
    assert upward == []
    assert unknown == [], "no libc beneath the runtime"


def test_every_seam_is_used_and_bound(objects: dict[Path, Path]) -> None:
    """A name in seam.h that nobody below needs, or nobody above defines, has no business there."""
    tables = [symbols(target) for target in objects.values()]
    defined = {name for own, _ in tables for name in own}
    needed = {name for _, lacks in tables for name in lacks}
    for header in SEAMS:
        names = declared(header)
        assert names <= defined, f"{header}: nobody defines {names - defined}"
        assert names <= needed, f"{header}: nobody calls {names - needed}"


def test_the_core_names_no_tool() -> None:
    names = [name for name in tools.names() if name != "none"]
    word = re.compile(rf"(?<!docs/)\b({'|'.join(names)})\b|\bIP_MC_|\bmc_", re.IGNORECASE)
    files = [path for path in client_files() if layer(path) != "tools"]
    files += list((PACKAGE / "abi").rglob("*.h"))
    files += list((PACKAGE / "jit").rglob("*.[ch]"))
    files += [path for path in PACKAGE.rglob("*.def") if "tools" not in path.parts]
    python = {path for path in PACKAGE.rglob("*.py") if "tools" not in path.relative_to(PACKAGE).parts}
    # Readers of what a tool writes, and what runs one or asks those that run, are for it.
    readers = (*tools.names(), "formats", "annotate", "dgview", "control")
    readers += ("api", "dap", "reporting", "testing", "pytest_plugin.py")
    python = {path for path in python if path.relative_to(PACKAGE).parts[0] not in readers}
    # The default of --tool and the documentation of how options are spelled for one.
    # What the extension's headers are is listed by folder.
    python -= {PACKAGE / "options" / name for name in ("core.py", "document.py", "parse.py")}
    files += sorted(python - {PACKAGE / "jit" / "build_native.py"})
    found = []
    for path in files:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if word.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()}")
    assert found == []
