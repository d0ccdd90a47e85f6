"""Real software from Debian's sources: no error as it is; of ten seeded ones all are found, none invented."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, ROOT, TIMEOUT
from tools.memcheck.seeded.programs import LOST, LUA, PBZIP2, SQLITE, ZLIB, Program, Seed
from tools.memcheck.seeded.sources import Sources, SourcesUnavailable

FOLDER = ROOT / "tests" / "guests" / "seeded"
FLAGS = ("-O1", "-g", "-w", "-fno-inline", "-fno-optimize-sibling-calls", f"-include{FOLDER}/seeded.h")
PROGRAMS = {program.package: program for program in (ZLIB, LUA, PBZIP2, SQLITE)}


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Sources:
    try:
        return Sources(tmp_path_factory.mktemp("sources"))
    except SourcesUnavailable as error:
        pytest.skip(f"no Debian sources: {error}")


def built(program: Program, source: Path, out: Path) -> Path:
    """The program with its errors, which the environment turns on."""
    if program.prepare:
        subprocess.run(
            ["sh", "-c", *program.prepare], cwd=source, check=True, capture_output=True, timeout=TIMEOUT
        )
    source /= program.folder
    for seed in program.seeds:
        path = source / seed.file
        text = path.read_text(errors="surrogateescape")
        assert text.count(seed.old) == 1, f"{seed.file} has not once: {seed.old}"
        path.write_text(text.replace(seed.old, seed.new), errors="surrogateescape")
    files = sorted({path for pattern in program.sources for path in source.glob(pattern)})
    files = [str(path) for path in files if path.name not in program.without]
    files += [str(FOLDER / program.driver)] if program.driver else []
    objects = [str(out / "seeded.o")]
    subprocess.run(
        ["gcc", "-c", "-O1", str(FOLDER / "seeded.c"), "-o", objects[0]], check=True, timeout=TIMEOUT
    )
    line = [
        program.compiler,
        *FLAGS,
        f"-I{source}",
        *files,
        *objects,
        "-o",
        str(out / "program"),
        *program.flags,
    ]
    subprocess.run(line, check=True, timeout=TIMEOUT)
    return out / "program"


def report(
    command: list[str], program: Path, arguments: tuple[str, ...], **environment: str
) -> tuple[int, str]:
    log = program.parent / "log"
    log.unlink(missing_ok=True)
    # A value that is undefined in either tool's heap is 0.
    options = ["--leak-check=full", "--malloc-fill=0", "--num-callers=30", f"--log-file={log}"]
    done = subprocess.run(
        [*command, *options, str(program), *arguments],
        env={"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONPATH": PACKAGE, **environment},
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=program.parent, timeout=TIMEOUT,
    )  # fmt: skip
    return done.returncode, re.sub(r"^==\d+== ?", "", log.read_text(errors="replace"), flags=re.M)


def errors(text: str) -> list[str]:
    """Errors and lost blocks: the first line and the first stack of each."""
    found = re.findall(r"^((?:[A-Z]|[\d,() +]+ bytes in ).*\n(?:   (?:at|by) .*\n)+)", text, re.M)
    return [block for block in found if not block.startswith(("Process", "Thread"))]


def is_of(seed: Seed, block: str) -> bool:
    first, _, stack = block.partition("\n")
    kind = seed.kind in first if seed.kind == LOST else re.match(seed.kind, first)
    return bool(kind) and re.search(rf": (?:.*::)?(?:{seed.where})(?:\(.*?\))? \(", stack) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_seeded_errors(name: str, sources: Sources, tmp_path: Path) -> None:
    program = PROGRAMS[name]
    for command in (program.compiler, *program.needs):
        if shutil.which(command) is None:
            pytest.skip(f"{command} is not installed")
    try:
        source = sources.unpacked(program.package)
    except SourcesUnavailable as error:
        pytest.skip(f"no Debian sources: {error}")
    made = built(program, source, tmp_path)
    shutil.copy(FOLDER / "seeded.lua", tmp_path)
    (tmp_path / "text").write_text("".join(f"{i * i} some text {i % 7}\n" for i in range(14000)))
    ours = [sys.executable, "-m", "interpose", "--tool=memcheck"]

    status, text = report(ours, made, program.command)
    assert status == 0 and "ERROR SUMMARY: 0 errors" in text, text

    _, text = report(ours, made, program.command, SEEDED="1")
    blocks = errors(text)
    missed = [seed for seed in program.seeds if not any(is_of(seed, block) for block in blocks)]
    invented = [block for block in blocks if not any(is_of(seed, block) for seed in program.seeds)]
    assert not missed and not invented, (missed, invented)
    assert len(program.seeds) == 10
