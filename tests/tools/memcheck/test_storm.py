"""Many at once: processes whose reports are neither lost nor torn, and threads that err at the same time.

And the same report from the same program again.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import xml.etree.ElementTree as tree
from collections import Counter
from pathlib import Path

import pytest
from tools.memcheck.guests import TIMEOUT, all_guests

CHILDREN = 40
TIMES = 200
"""Of each thread's error."""
FORKS = """
/* getppid: no register has the lost pointer. */
#include <stdlib.h>
#include <unistd.h>
#include <sys/wait.h>
static void wrong(void) { char *volatile p = malloc(4); p[4] = 1; free(p); p = malloc(9); p = 0; getppid(); }
int main(void) {
    int live = 0;
    for (int i = 0; i < %d; i++) {
        if (fork() == 0) { wrong(); exit(0); }
        if (++live == 10) { wait(0); live--; }
    }
    while (wait(0) > 0);
    wrong();
    return 0;
}
"""
THREADS = """
#include <pthread.h>
#include <stdlib.h>
static pthread_barrier_t barrier;
#define THREAD(n) \\
    static void *run_##n(void *p) { \\
        pthread_barrier_wait(&barrier); \\
        for (int i = 0; i < %d; i++) ((volatile char *)p)[4 + n] = 1; \\
        return 0; \\
    }
THREAD(0) THREAD(1) THREAD(2) THREAD(3) THREAD(4) THREAD(5) THREAD(6) THREAD(7)
int main(void) {
    void *(*runs[])(void *) = {run_0, run_1, run_2, run_3, run_4, run_5, run_6, run_7};
    pthread_t t[8];
    char *p = malloc(4);
    pthread_barrier_init(&barrier, 0, 8);
    for (int i = 0; i < 8; i++) pthread_create(&t[i], 0, runs[i], p);
    for (int i = 0; i < 8; i++) pthread_join(t[i], 0);
    free(p);
    return 0;
}
"""
INTERPOSE = [sys.executable, "-m", "interpose", "--tool=memcheck"]


def built(folder: Path, source: str) -> Path:
    (folder / "program.c").write_text(source)
    line = ["gcc", "-g", "-w", "-pthread", "-o", "program", "program.c"]
    subprocess.run(line, cwd=folder, check=True, timeout=TIMEOUT)
    return folder / "program"


def run(program: Path, *options: str) -> str:
    """What it writes on stderr."""
    command = [*INTERPOSE, *options, str(program)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=program.parent, timeout=TIMEOUT)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.fixture(scope="module")
def forks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("forks"), FORKS % CHILDREN)


def test_lines_of_a_fork_storm(forks: Path) -> None:
    """All processes into one descriptor: every line is whole, and every process tells all of its own."""
    lines = run(forks, "--leak-check=full").splitlines()
    assert all(re.match(r"==\d+==( |$)", line) for line in lines)
    reports: dict[str, list[str]] = {}
    for line in lines:
        _, pid, text = line.split("==", 2)
        reports.setdefault(pid, []).append(text.strip())
    assert len(reports) == CHILDREN + 1
    for report in reports.values():
        text = "\n".join(report)
        assert text.count("Invalid write of size 1\nat ") == 1, text
        assert text.count("9 bytes in 1 blocks are definitely lost in loss record 1 of 1\nat ") == 1, text
        assert re.search(r"ERROR SUMMARY: 2 errors from 2 contexts \(suppressed: 0 from 0\)\Z", text), text


def test_documents_of_a_fork_storm(forks: Path, tmp_path: Path) -> None:
    run(forks, "--leak-check=full", "--xml=yes", f"--xml-file={tmp_path}/%p.xml")
    documents = [tree.parse(path).getroot() for path in tmp_path.iterdir()]
    assert len(documents) == CHILDREN + 1
    for document in documents:
        kinds = [error.findtext("kind") for error in document.iter("error")]
        assert kinds == ["InvalidWrite", "Leak_DefinitelyLost"]


def test_records_of_a_fork_storm(forks: Path, tmp_path: Path) -> None:
    """One file of JSON lines for all processes."""
    out = tmp_path / "all.json"
    run(forks, "--leak-check=full", f"--json-file={out}")
    records = [json.loads(line) for line in out.read_text().splitlines()]
    found = Counter((record["pid"], record["record"]) for record in records)
    pids = {pid for pid, _ in found}
    assert len(pids) == CHILDREN + 1
    assert all(found[pid, kind] == 1 for pid in pids for kind in ("error", "leak", "summary", "end"))


def test_eight_threads_at_once(tmp_path: Path) -> None:
    """An error from each, whole, with its own stack; their repetitions are counted."""
    text = run(built(tmp_path, THREADS % TIMES), "--leak-check=full")
    found = re.findall(
        r"Invalid write of size 1\n==\d+==    at 0x[0-9A-F]+: (run_\d) \(program.c:\d+\)\n", text
    )
    assert sorted(found) == [f"run_{n}" for n in range(8)]
    afterwards = re.findall(r"is (\d) bytes after a block of size 4 alloc'd", text)
    assert sorted(afterwards) == [str(n) for n in range(8)]
    assert f"ERROR SUMMARY: {8 * TIMES} errors from 8 contexts" in text


@pytest.mark.parametrize("name", ("containers_leak", "thread_storm", "option_var_info"))
def test_the_same_report_again(name: str, tmp_path: Path) -> None:
    """To the byte, but for the process's number."""
    (guest,) = (guest for guest in all_guests() if guest.name == name)
    program = guest.build(tmp_path)
    texts = [re.sub(r"==\d+==", "==", run(program, *guest.options)) for _ in range(2)]
    assert texts[0] == texts[1] and "ERROR SUMMARY" in texts[0]
