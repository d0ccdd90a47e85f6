"""--keep-debuginfo=yes: stacks from before dlclose keep their names, also where another library was later."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

TIMEOUT = 120
LIBRARY = r"""
#include <stdlib.h>
static inline __attribute__((always_inline)) void *inlined_%(name)s(int n) { return malloc(n); }
void *alloc_%(name)s(int n) { return inlined_%(name)s(n); }
void drop_%(name)s(char *p) { free(p); }
void bad_%(name)s(char *p) { p[-1] = 1; }
"""
PROGRAM = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
typedef void *allocate(int);
typedef void touch(char *);
int main(int argc, char **argv) {
    char *kept[4] = {0};
    for (int i = 0; i < 4; i++) {
        const char *name = i == 1 ? "two" : "one";
        char text[64];
        sprintf(text, "./%s.so", name);
        void *library = dlopen(text, RTLD_NOW);
        sprintf(text, "alloc_%s", name);
        allocate *f = (allocate *)dlsym(library, text);
        fprintf(stderr, "%s at %p\n", name, (void *)f);
        kept[i] = f(10 + i);
        sprintf(text, "bad_%s", name);
        if (i < 2) ((touch *)dlsym(library, text))(kept[i]);
        sprintf(text, "drop_%s", name);
        if (i == 3) ((touch *)dlsym(library, text))(kept[i]);
        dlclose(library);
    }
    if (argc > 1 && fork()) {
        wait(NULL);
        _exit(0);
    }
    kept[1][11] = 1; /* of two */
    kept[3][1] = 1;  /* freed by one */
    for (int i = 0; i < 4; i++) kept[i] = NULL;
    return 0;
}
"""


def _run(folder: Path, *options: str, arguments: tuple[str, ...] = ()) -> str:
    for name in ("one", "two"):
        (folder / f"{name}.c").write_text(LIBRARY % {"name": name})
        command = ["gcc", "-g", "-O1", "-fno-optimize-sibling-calls", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", f"{name}.so", f"{name}.c"], check=True, cwd=folder)
    (folder / "main.c").write_text(PROGRAM)
    subprocess.run(["gcc", "-g", "-w", "-o", "main", "main.c"], check=True, cwd=folder)
    command = [sys.executable, "-m", "interpose", "--tool=memcheck", "--leak-check=full", "-s", *options]
    done = subprocess.run(
        [*command, "./main", *arguments], cwd=folder, capture_output=True, text=True, timeout=TIMEOUT
    )
    return re.sub(r"^==\d+== ?", "", done.stderr, flags=re.MULTILINE)


def _frames(text: str, title: str) -> list[list[str]]:
    """The functions of the stacks below each line that has the title."""
    found, stack = [], None
    for line in text.splitlines():
        if re.search(title, line):
            stack = []
            found.append(stack)
        elif stack is not None and (frame := re.match(r"   (?:at|by) 0x[0-9A-F]+: (\S+)", line)):
            stack.append(frame[1])
        else:
            stack = None
    return found


def test_names_stay(tmp_path: Path) -> None:
    text = _run(tmp_path, "--keep-debuginfo=yes")
    places = dict(re.findall(r"(one|two) at (0x\w+)", text))
    assert places["one"] == places["two"], "the libraries were to lie at the same place"
    lost = {size: _frames(text, rf"^{size} bytes in 1 blocks are definitely lost") for size in (10, 11, 12)}
    one, two = (["malloc", f"inlined_{n}", f"alloc_{n}", "main"] for n in ("one", "two"))
    assert lost == {10: [one], 11: [two], 12: [one]}
    # Each once when it happened, once in the list at the end.
    assert _frames(text, "0 bytes after a block of size 11 alloc'd") == [two, two]
    assert _frames(text, "inside a block of size 13 free'd") == [["free", "drop_one", "main"]] * 2
    assert _frames(text, "Block was alloc'd at") == [one, one]
    writes = [["bad_one", "main"], ["bad_two", "main"]]
    found = [frames for frames in _frames(text, "Invalid write of size 1") if frames[0] != "main"]
    assert found[:2] == writes and sorted(found[2:]) == writes


def test_names_stay_in_children(tmp_path: Path) -> None:
    """A child that was forked after the libraries had gone loses what they had allocated."""
    text = _run(tmp_path, "--keep-debuginfo=yes", arguments=("fork",))
    lost = {size: _frames(text, rf"^{size} bytes in 1 blocks are definitely lost") for size in (10, 11, 12)}
    one, two = (["malloc", f"inlined_{n}", f"alloc_{n}", "main"] for n in ("one", "two"))
    assert lost == {10: [one], 11: [two], 12: [one]}
    assert _frames(text, "0 bytes after a block of size 11 alloc'd")[0] == two


def test_names_go_unless_they_are_to_stay(tmp_path: Path) -> None:
    text = _run(tmp_path)
    # The libraries' addresses are the same, and nothing tells them apart: Valgrind says that, too.
    assert _frames(text, "^33 bytes in 3 blocks are definitely lost") == [["malloc", "???", "main"]]


def test_a_library_loaded_often_takes_no_room() -> None:
    """The same file at the same place again is the same code."""
    from interpose.elf.pieces import Piece
    from interpose.supervisor.unloaded import UnloadedCode

    class Symbolizer:
        kept = 0

        def __init__(self) -> None:
            self.file: object = None

        def keep(self, start: int, size: int) -> list[Piece]:
            Symbolizer.kept += 1
            start += Symbolizer.kept << 64
            return [Piece(start, start + size, 0, self.file)]

    symbolizer, code = Symbolizer(), UnloadedCode()
    files = object(), object()
    for number in range(0, 3000, 10):
        symbolizer.file = files[number >= 2000]
        assert code.keep(symbolizer, 0x1000, 0x3000, number)
    assert [len(periods) for periods in code._periods.values()] == [2]
    above = [code.numbered((0x1234,), number)[0] >> 64 for number in (0, 1500, 1989, 1990, 2500, 2989, 2990)]
    assert above == [1, 1, 1, 201, 201, 201, 0]
    assert code.numbered((0x4000, 0xFFF), 5) == (0x4000, 0xFFF)
