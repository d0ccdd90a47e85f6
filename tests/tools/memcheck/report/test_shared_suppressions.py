"""Suppressions that Valgrind generates work here, and the other way round."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

VALGRIND = ["valgrind"]
OURS = [sys.executable, "-m", "interpose", "--tool=memcheck"]

THREAD = """#include <pthread.h>
#include <stdlib.h>
__attribute__((noipa)) int wrong(int *p)
{
    for (volatile int i = 0; i < 2; i++) {} /* else Valgrind takes the call for part of the caller's block */
    return p[1];
}
static void *thread(void *p) { return (void *)(long)wrong(p); }
int main(void)
{
    pthread_t t;
    void *p = malloc(4);
    pthread_create(&t, NULL, thread, p);
    pthread_join(t, NULL);
    free(p);
}
"""
LIBRARY = """#include <stdlib.h>
__attribute__((noipa)) int wrong(int *p)
{
    for (volatile int i = 0; i < 2; i++) {} /* else Valgrind takes the call for part of the caller's block */
    return p[1];
}
__attribute__((constructor)) static void initialiser(void)
{
    int *p = malloc(4);
    wrong(p);
    free(p);
}
"""
LEAK = """#include <stdlib.h>
__attribute__((noipa)) void *wrong(void) { return realloc(NULL, 4); }
int main(void) { return wrong() == NULL; }
"""
VECTOR = """#include <fcntl.h>
#include <sys/uio.h>
int main(void)
{
    char undefined[4];
    struct iovec parts[2] = {{"a", 1}, {undefined, 4}};
    return writev(open("/dev/null", O_WRONLY), parts, 2) != 5;
}
"""


@pytest.fixture(scope="module")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("programs")
    sources = {"thread.c": THREAD, "library.c": LIBRARY, "leak.c": LEAK, "program.c": "int main(void) {}\n"}
    for name, text in sources.items():
        (folder / name).write_text(text)
    compiler = ["gcc", "-g", "-O1"]
    subprocess.run([*compiler, "thread.c", "-pthread", "-o", "thread"], cwd=folder, check=True)
    subprocess.run([*compiler, "leak.c", "-o", "leak"], cwd=folder, check=True)
    shared = ["-shared", "-fPIC", "-Wl,-soname,library.so", "-o", "library.so"]
    subprocess.run([*compiler, "library.c", *shared], cwd=folder, check=True)
    link = ["-Wl,--no-as-needed", "./library.so", "-Wl,-rpath,$ORIGIN", "-o", "program"]
    subprocess.run([*compiler, "program.c", *link], cwd=folder, check=True)
    return folder


def errors(engine: list[str], *words: str) -> tuple[list[str], str]:
    """The messages of a run, and the suppressions that it printed."""
    run = subprocess.run(
        [*engine, "-q", "--leak-check=full", *words], capture_output=True, text=True, check=True
    )
    lines = run.stderr.splitlines()
    return [line for line in lines if line.startswith("==")], "\n".join(
        line for line in lines if not line.startswith("==")
    )


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is the peer")
@pytest.mark.parametrize("words", [["thread"], ["leak"], ["program"], ["program", "a", "b"]], ids=" ".join)
@pytest.mark.parametrize(("maker", "user"), [(VALGRIND, OURS), (OURS, VALGRIND)], ids=["theirs", "ours"])
def test_generated_suppressions_work(
    tmp_path: Path, programs: Path, maker: list[str], user: list[str], words: list[str]
) -> None:
    command = [str(programs / words[0]), *words[1:]]
    shown, suppressions = errors(maker, "--gen-suppressions=all", *command)
    assert any("wrong" in line for line in shown) and "fun:wrong" in suppressions
    (tmp_path / "made.supp").write_text(suppressions)
    assert errors(user, f"--suppressions={tmp_path / 'made.supp'}", *command) == ([], "")


def test_threads_end_in_clone(programs: Path) -> None:
    _, suppressions = errors(OURS, "--gen-suppressions=all", str(programs / "thread"))
    assert suppressions.splitlines()[-2:] == ["   fun:clone", "}"]


@pytest.mark.parametrize("element", ["...", "1"])
def test_elements_of_vectors_may_be_numbered(tmp_path: Path, element: str) -> None:
    (tmp_path / "v.c").write_text(VECTOR)
    subprocess.run(["gcc", "-g", "v.c", "-o", "v"], cwd=tmp_path, check=True)
    entry = f"{{\n name\n Memcheck:Param\n writev(vector[{element}])\n ...\n fun:main\n}}\n"
    (tmp_path / "v.supp").write_text(entry)
    assert errors(OURS, str(tmp_path / "v"))[0]
    assert errors(OURS, f"--suppressions={tmp_path / 'v.supp'}", str(tmp_path / "v"))[0] == []
