"""Reports name a thread as it is called now, not as one before with the same number was called."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

SOURCE = """\
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
static volatile int seen;
static void *named(void *block) {
    prctl(PR_SET_NAME, "first");
    seen = ((volatile char *)block)[10];
    return 0;
}
static void *unnamed(void *block) {
    seen = ((volatile char *)block)[11];
    return 0;
}
static void *named_again(void *block) {
    prctl(PR_SET_NAME, "third");
    seen = ((volatile char *)block)[12];
    return 0;
}
int main(void) {
    void *(*const all[])(void *) = {named, unnamed, named_again};
    void *block = malloc(10);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, 0, all[i], block);
        pthread_join(thread, 0);
    }
    free(block);
    return 0;
}
"""


def test_a_number_is_given_again(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-pthread", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    xml = tmp_path / "report.xml"
    options = ["--xml=yes", f"--xml-file={xml}"]
    command = [sys.executable, "-m", "interpose", *options, str(tmp_path / "p")]
    subprocess.run(command, check=True, timeout=120)
    errors = re.findall(r"<error>.*?</error>", xml.read_text(), re.S)
    names = [re.findall(r"<threadname>(.*?)</threadname>", error) for error in errors]
    assert [re.findall(r"<tid>(\d+)</tid>", error) for error in errors] == [["2"]] * 3
    assert names == [["first"], [], ["third"]]


def test_starts_and_ends_are_shown_if_wanted(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-pthread", "p.c", "-o", "p"], cwd=tmp_path, check=True)
    command = [sys.executable, "-m", "interpose", "--tool=none", "--trace-sched=yes", str(tmp_path / "p")]
    text = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True).stderr
    assert re.findall(r"SCHED\[(\d)\]: (\w+)", text) == [("2", "starts"), ("2", "ends")] * 3
