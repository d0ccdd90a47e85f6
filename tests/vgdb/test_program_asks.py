"""VALGRIND_MONITOR_COMMAND: the program's own commands, beside Valgrind's."""

from __future__ import annotations

import re
import subprocess

import pytest
from vgdb.running import GUESTS, TIMEOUT, beside_valgrind, interpose, valgrind

COMMANDS = (
    *(
        "v.info n_errs_found a",
        "unknown",
        "v.info",
        "v",
        "v.info zz",
        "help",
        "leak_check full any",
        "v.wait",
    ),
    *(
        "v.set gdb_output",
        "v.info n_errs_found",
        "v.set vgdb-error 3",
        "v.set log_output",
        "v.info n_errs_found",
    ),
    *("", "  ", "v.set mixed_output", "check_memory", "xb 0x0 4", "x" * 3000, "v.kill", "unknown"),
)


@pytest.fixture(scope="module")
def asks(tmp_path_factory):
    out = tmp_path_factory.mktemp("asks") / "asks"
    shown = subprocess.run([*interpose(), "--include-dir"], capture_output=True, text=True, timeout=TIMEOUT)
    words = ["gcc", "-g", "-w", f"-I{shown.stdout.strip()}", str(GUESTS / "asks.c"), "-o", str(out)]
    subprocess.run(words, check=True, timeout=TIMEOUT)
    return out


def said(engine, asks, *options) -> tuple[int, str]:
    words = [*engine, "-q", *options, str(asks), *COMMANDS]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
    _, text = process.communicate(timeout=TIMEOUT)
    text = text.replace(f"=={process.pid}==", "==PID==").replace("new|increased", "increased")
    text = text.replace("all_errors [also_suppressed] :", "all_errors       :")
    return process.returncode, text


@beside_valgrind
@pytest.mark.parametrize("options", [(), ("--vgdb=no",)], ids=["with vgdb", "without"])
def test_replies_go_to_the_log(asks, options) -> None:
    expected, found = said(valgrind(), asks, *options), said(interpose(), asks, *options)
    assert found[1].split("## ") == expected[1].split("## ")
    assert found[0] == expected[0] == 0


@beside_valgrind
def test_searches_see_what_running_threads_hold(tmp_path) -> None:
    out = tmp_path / "searches"
    shown = subprocess.run([*interpose(), "--include-dir"], capture_output=True, text=True, timeout=TIMEOUT)
    source = GUESTS / "searches_beside.c"
    words = ["gcc", "-g", "-O1", "-pthread", f"-I{shown.stdout.strip()}", str(source), "-o", str(out)]
    subprocess.run(words, check=True, timeout=TIMEOUT)
    for engine in (valgrind(), interpose()):
        assert subprocess.run([*engine, "-q", str(out)], capture_output=True, timeout=TIMEOUT).returncode == 0


@beside_valgrind
def test_undefined_memory_has_an_origin(tmp_path) -> None:
    """As in errors: the block's allocation, the frame, a request, or where what was copied comes from."""
    out = tmp_path / "origins"
    shown = subprocess.run([*interpose(), "--include-dir"], capture_output=True, text=True, timeout=TIMEOUT)
    source = GUESTS / "origins_asked.c"
    words = ["gcc", "-g", "-w", "-pthread", f"-I{shown.stdout.strip()}", str(source), "-o", str(out)]
    subprocess.run(words, check=True, timeout=TIMEOUT)

    def asked(engine, *options) -> list[tuple[str, list[str]]]:
        """What was asked about, and what was said of it but for addresses: the calls of the program's own."""
        words = [*engine, "-q", *options, str(out)]
        run = subprocess.run(words, capture_output=True, text=True, timeout=TIMEOUT, check=True)
        found = []
        for part in run.stderr.split("## ")[1:]:
            what, *lines = part.splitlines()
            said = [re.sub("0x[0-9A-Fa-f]+", "ADDR", line.partition("== ")[2] or line) for line in lines]
            found.append(
                (what, [line for line in said if not re.search(r": (\w*alloc|start_thread|clone)", line)])
            )
        return found

    expected = asked(valgrind(), "--track-origins=yes")
    assert sum("was created" in line for _, lines in expected for line in lines) == 10
    assert asked(interpose()) == expected
    assert asked(interpose(), "--track-origins=no") == asked(valgrind())
