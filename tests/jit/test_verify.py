"""The verifier of UCode: it accepts what the stages make, and refuses each kind of mistake, saying which."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from jit.clib import ROOT, build, load

HERE = Path(__file__).resolve().parent
JIT = ROOT / "interpose" / "jit"
FACE = """
int n_cases(void);
const char *case_damage(int n);
const char *case_why(int n);
int case_accepted(int n, char *why, int cap);
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    where = tmp_path_factory.mktemp("verify")
    return load(build(where, HERE / "verify_cases.c", JIT / "verify.c", JIT / "ucode.c"), FACE)


def test_each_kind_of_mistake_is_refused(library: tuple[Any, Any]) -> None:
    ffi, lib = library
    why = ffi.new("char[]", 300)
    wrong = []
    for n in range(lib.n_cases()):
        damage, expected = (ffi.string(text(n)).decode() for text in (lib.case_damage, lib.case_why))
        accepted = lib.case_accepted(n, why, 300)
        told = "" if accepted else ffi.string(why).decode()
        if bool(accepted) != (not expected) or expected not in told:
            wrong.append(f"{damage}: {told or 'accepted'!r} instead of {expected!r}")
    assert not wrong, "\n".join(wrong)


def test_each_refusal_has_a_case(library: tuple[Any, Any]) -> None:
    """What the verifier can say is said by some case."""
    ffi, lib = library
    refusals = re.findall(r'refuse\(\s*&?c, "([^"]*)"', (JIT / "verify.c").read_text())
    told = [ffi.string(lib.case_why(n)).decode() for n in range(lib.n_cases())]
    assert len(refusals) > 30
    unused = []
    for text in refusals:
        words = [word.strip() for word in re.split(r"%\w+", text) if len(word.strip()) > 3]
        if not any(word in why or (why and why in word) for word in words for why in told):
            unused.append(text)
    assert not unused
