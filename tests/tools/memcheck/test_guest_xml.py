"""Programs of tests/guests/memcheck give the document that the installed Valgrind gives, line by line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from report.xml_normal import normalised
from tools.memcheck.guests import (
    NEWER_VERSION,
    PACKAGE,
    REFERENCE,
    SOURCES,
    TIMEOUT,
    Guest,
    valgrind_version,
    xml_protocol,
)
from tools.memcheck.newer import NEWER

# Every kind of error and leak that 3.19 knows; INTERPOSE_LONG takes all programs without a difference.
NAMES = (
    "bad_free", "cond_stack", "fishy_sizes", "overlap", "leak_kinds", "leak_suppressed", "mismatched",
    "option_gen_suppressions", "option_quiet", "option_track_origins", "path_undefined", "realloc_grows",
    "request_block", "request_check_mem", "thread_errors",
)  # fmt: skip
APART = {"request_ignored", "static_stacks"}
"""Their children write into their document under Valgrind."""


def _all() -> list[str]:
    if not os.environ.get("INTERPOSE_LONG"):
        return [name for name in NAMES if valgrind_version() == REFERENCE or name not in NEWER]
    from tools.memcheck.differences import DIFFERENCES
    from tools.memcheck.guests import all_guests

    return [guest.name for guest in all_guests() if guest.name not in APART and guest.name not in DIFFERENCES]


@pytest.mark.skipif(
    valgrind_version() not in (REFERENCE, NEWER_VERSION),
    reason=f"the documents compared are those of {REFERENCE} and {NEWER_VERSION}",
)
@pytest.mark.parametrize("name", _all())
def test_the_document_agrees(name: str, tmp_path: Path) -> None:
    (source,) = SOURCES.glob(f"{name}.c*")
    guest = Guest(source)
    program = guest.build(tmp_path)
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONPATH": PACKAGE}
    found = []
    ours = [*guest.our_command(), f"--xml-protocol={xml_protocol()}"]
    for number, command in enumerate((guest.valgrind_command(), ours)):
        out = tmp_path / f"{number}.xml"
        done = subprocess.run(
            [*command, "--xml=yes", f"--xml-file={out}", program],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            env=environment,
            cwd=tmp_path,
            timeout=TIMEOUT,
        )
        found.append((done.returncode, normalised(out.read_text(errors="replace")).splitlines()))
    assert found[0] == found[1]
