"""Processes that stand still between two steps (--delays): no result changes by what others do meanwhile."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from life.running import command, compile_guest, run

from interpose.jit._native import lib
from interpose.options.core import DELAY_PLACES

WHOLE = "child: first\nchild: second\n"
CASES = [
    (
        "fork",
        "fork=400",
        {"parent: 7\n", f"{WHOLE}parent: 7\nchild: exit 3\n", f"parent: 7\n{WHOLE}child: exit 3\n"},
    ),
    (
        "vfork",
        "clone=400",
        {"parent: 7\n", f"{WHOLE}parent: 7\nchild: exit 3\n", f"parent: 7\n{WHOLE}child: exit 3\n"},
    ),
    ("exec", "exec=400", {"parent: 7\n", "executed\nparent: 0\n"}),
    ("thread", "clone=400", {"parent: 7\n"}),
]


@pytest.mark.parametrize(("how", "delays", "wanted"), CASES, ids=[how for how, _, _ in CASES])
def test_the_end_comes_amid_a_call(tmp_path: Path, how: str, delays: str, wanted: set[str]) -> None:
    """The call is over before the process begins to end, or never happens; nothing is waited for."""
    program = compile_guest("life/fork_and_exit.c", tmp_path)
    done = run([*command("--tool=memcheck", "-q", f"--delays={delays}"), str(program), how])
    assert done.stdout in wanted, done
    assert (done.returncode, done.stderr) == (0, "")


def test_places_have_one_name() -> None:
    names = {name for name in dir(lib) if re.fullmatch(r"IP_AT_(?!END)\w+", name)}
    assert names == {f"IP_AT_{place.upper()}" for place in DELAY_PLACES}


@pytest.mark.parametrize("text", ["nowhere=3", "fork", "fork=-1", "seed=x", ""])
def test_bad_delays(text: str) -> None:
    done = run([*command(f"--delays={text}"), "/bin/true"])
    assert done.returncode == 1 and "--delays=" in done.stderr
