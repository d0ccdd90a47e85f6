"""The real gdb drives programs by scripts: each a program of one behaviour (``tests/guests/gdb``)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from gdb import sessions
from gdb.sessions import Session

pytestmark = pytest.mark.skipif(sessions.GDB is None, reason="gdb is not installed")


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"": tmp_path_factory.mktemp("gdb")}


@pytest.mark.parametrize(
    ("session", "tool"),
    [pytest.param(session, tool, id=f"{session.name}-{tool}") for session, tool in sessions.sessions()],
)
def test_session(session: Session, tool: str, programs: dict[str, Path], tmp_path: Path) -> None:
    if session.needs and session.needs not in Path("/proc/cpuinfo").read_text().split():
        pytest.skip(f"the CPU has no {session.needs}")
    if session.program not in programs:
        programs[session.program] = sessions.build(session, programs[""])
    result = sessions.run(session, tool, programs[session.program], tmp_path)
    told = f"{result.gdb}\n--- the program, status {result.status}:\n{result.out}"
    missing = sessions.found_in_order(session.expected, result.gdb)
    assert missing is None, f"gdb does not say {missing!r}:\n{told}"
    for pattern in [*session.unwanted, "Remote failure reply", "Remote communication error"]:
        assert not re.search(pattern, result.gdb, re.MULTILINE), f"gdb says {pattern!r}:\n{told}"
    missing = sessions.found_in_order(session.out, result.out)
    assert missing is None, f"the program does not say {missing!r}:\n{told}"
    assert result.status == session.status, told
    assert result.left == [], "the FIFOs are left"
