"""Our headers: every language and mode, beside Valgrind's or without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interpose import paths

USE_ALL = """
int plain(void) {
    unsigned long a = 0, b = 0, c = 0, d = 0;
    int x = 5, stack;
    char text[64] = "";
    (void)text;
    VALGRIND_DISCARD_TRANSLATIONS(&x, 4);
    VALGRIND_MALLOCLIKE_BLOCK(&x, 4, 0, 0);
    VALGRIND_RESIZEINPLACE_BLOCK(&x, 4, 4, 0);
    VALGRIND_FREELIKE_BLOCK(&x, 0);
    VALGRIND_CREATE_MEMPOOL(&x, 0, 0);
    VALGRIND_CREATE_MEMPOOL_EXT(&x, 0, 0, VALGRIND_MEMPOOL_AUTO_FREE | VALGRIND_MEMPOOL_METAPOOL);
    VALGRIND_MEMPOOL_ALLOC(&x, &a, 4);
    VALGRIND_MEMPOOL_FREE(&x, &a);
    VALGRIND_MEMPOOL_TRIM(&x, &a, 4);
    VALGRIND_MEMPOOL_CHANGE(&x, &a, &b, 4);
    VALGRIND_MOVE_MEMPOOL(&x, &a);
    VALGRIND_DESTROY_MEMPOOL(&x);
    x += (int)VALGRIND_MEMPOOL_EXISTS(&x);
    stack = (int)VALGRIND_STACK_REGISTER(&a, &b);
    VALGRIND_STACK_CHANGE(stack, &a, &b);
    VALGRIND_STACK_DEREGISTER(stack);
    VALGRIND_DISABLE_ERROR_REPORTING;
    VALGRIND_ENABLE_ERROR_REPORTING;
    VALGRIND_CLO_CHANGE("-v");
    x += (int)VALGRIND_COUNT_ERRORS + (int)VALGRIND_MONITOR_COMMAND("help");
    x += (int)VALGRIND_MAP_IP_TO_SRCLOC(&x, text);
    x += VALGRIND_PRINTF("%d", x) + VALGRIND_PRINTF_BACKTRACE("%d", x);
    VALGRIND_MAKE_MEM_NOACCESS(&a, 8);
    VALGRIND_MAKE_MEM_UNDEFINED(&a, 8);
    VALGRIND_MAKE_MEM_DEFINED(&a, 8);
    VALGRIND_MAKE_MEM_DEFINED_IF_ADDRESSABLE(&a, 8);
    stack = (int)VALGRIND_CREATE_BLOCK(&a, 8, "a");
    VALGRIND_DISCARD(stack);
    x += (int)VALGRIND_CHECK_MEM_IS_ADDRESSABLE(&a, 8) + (int)VALGRIND_CHECK_MEM_IS_DEFINED(&a, 8);
    x += (int)VALGRIND_CHECK_VALUE_IS_DEFINED(a);
    VALGRIND_DO_LEAK_CHECK;
    VALGRIND_DO_ADDED_LEAK_CHECK;
    VALGRIND_DO_CHANGED_LEAK_CHECK;
    VALGRIND_DO_QUICK_LEAK_CHECK;
    VALGRIND_COUNT_LEAKS(a, b, c, d);
    VALGRIND_COUNT_LEAK_BLOCKS(a, b, c, d);
    x += (int)(a + b + c + d);
    x += (int)VALGRIND_GET_VBITS(&a, &b, 8) + (int)VALGRIND_SET_VBITS(&a, &b, 8);
    VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(&a, 8);
    VALGRIND_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE(&a, 8);
    CALLGRIND_DUMP_STATS;
    CALLGRIND_DUMP_STATS_AT("here");
    CALLGRIND_ZERO_STATS;
    CALLGRIND_TOGGLE_COLLECT;
    CALLGRIND_START_INSTRUMENTATION;
    CALLGRIND_STOP_INSTRUMENTATION;
    return x + (int)RUNNING_ON_VALGRIND + (int)VALGRIND_NON_SIMD_CALL0(0);
}
"""
USE_OURS = """
int ours(void) {
    unsigned long a = 0;
    char text[16] = "";
    (void)text;
    INTERPOSE_DO_NEW_LEAK_CHECK;
    INTERPOSE_DATAGRIND_TRACK_RANGE(&a, 8, "long", "a");
    INTERPOSE_DATAGRIND_UNTRACK_RANGE(&a, 8);
    INTERPOSE_DATAGRIND_START_EVENT("work");
    INTERPOSE_DATAGRIND_END_EVENT("work");
    INTERPOSE_CALLGRIND_DUMP_STATS;
    INTERPOSE_MAKE_MEM_DEFINED(&a, 8);
    return (int)RUNNING_ON_INTERPOSE + (int)INTERPOSE_REPLACES_MALLOC + (int)INTERPOSE_GET_TOOLNAME(text, 16);
}
"""
USE_WRAP = """
#ifndef NVALGRIND
long f(long);
long I_WRAP_SONAME_FNNAME_ZU(NONE, f)(long x) {
    long result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    CALL_FN_W_12W(result, fn, x, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    CALL_FN_v_7W(fn, x, 2, 3, 4, 5, 6, 7);
    CALL_FN_v_v(fn);
    return result;
}
long INTERPOSE_WRAP_SONAME_FNNAME_ZZ(NONE, g)(long x) {
    long result;
    InterposeOrigFn fn;
    INTERPOSE_GET_ORIG_FN(fn);
    INTERPOSE_CALL_FN_W_5W(result, fn, x, 2, 3, 4, 5);
    return result;
}
#endif
"""
OURS = "#include <interpose/memcheck.h>\n#include <interpose/callgrind.h>\n#include <interpose/datagrind.h>\n"
# By a name of the test's, for <valgrind/…> finds ours.
THEIRS = "#include <theirs/memcheck.h>\n#include <theirs/callgrind.h>\n"
MAIN = "int main(void) { return (plain() - 5 + ours()) & 0xff; }\n"


@pytest.mark.parametrize("define", ["", "-DNVALGRIND"], ids=["active", "NVALGRIND"])
@pytest.mark.parametrize("includes", [OURS, OURS + THEIRS, THEIRS + OURS], ids=["ours", "first", "last"])
@pytest.mark.parametrize(
    "compiler",
    [
        *("gcc -std=c89", "gcc -std=c99", "gcc -std=gnu17 -O2"),
        *("g++ -std=c++98", "g++ -std=c++11", "g++ -std=c++20 -O2"),
    ],
)
def test_every_language_without_a_warning(tmp_path: Path, compiler: str, includes: str, define: str) -> None:
    source, out = tmp_path / ("use.c" if compiler.startswith("gcc") else "use.cc"), tmp_path / "use"
    source.write_text(includes + USE_ALL + USE_OURS + USE_WRAP + MAIN)
    (tmp_path / "theirs").symlink_to("/usr/include/valgrind")
    warnings = ["-Wall", "-Wextra", "-Werror"]
    if define:  # arguments are dropped
        warnings += ["-Wno-unused-variable", "-Wno-unused-but-set-variable"]
    if includes == OURS:
        warnings += ["-Wpedantic", "-Wshadow"]
    command = [
        *compiler.split(),
        *warnings,
        *define.split(),
        f"-I{paths.include()}",
        "-isystem",
        str(tmp_path),
    ]
    if includes != OURS:
        command[1] = command[1].replace("=c", "=gnu")  # Valgrind's header needs asm and typeof
    subprocess.run([*command, str(source), "-o", str(out)], check=True)
    assert subprocess.run([str(out)], timeout=20).returncode == 0  # natively: all defaults


ALIAS = """#include <valgrind/valgrind.h>
#include <valgrind/memcheck.h>
#include <valgrind/callgrind.h>
#ifndef INTERPOSE_MEMCHECK_H
#error not ours
#endif
int main(void) {
    int x = 0;
    CALLGRIND_ZERO_STATS;
    (void)VALGRIND_MAKE_MEM_DEFINED(&x, sizeof x);
    if (RUNNING_ON_VALGRIND > 1) return 2;
    return (int)VALGRIND_REPLACES_MALLOC;
}
"""


def test_the_other_names_of_the_headers_are_ours(tmp_path: Path) -> None:
    source, out = tmp_path / "alias.c", tmp_path / "alias"
    source.write_text(ALIAS)
    subprocess.run(["gcc", f"-I{paths.include()}", str(source), "-o", str(out)], check=True)
    assert subprocess.run([str(out)], timeout=20).returncode == 0
    for tool, replaces in (("none", 0), ("memcheck", 1)):
        command = [sys.executable, "-m", "interpose", f"--tool={tool}", "-q", str(out)]
        assert subprocess.run(command, timeout=60).returncode == replaces


def test_nvalgrind_leaves_no_code(tmp_path: Path) -> None:
    source = tmp_path / "none.c"
    source.write_text(OURS + "int f(void) { VALGRIND_DO_LEAK_CHECK; return (int)RUNNING_ON_VALGRIND; }\n")
    command = ["gcc", "-O1", "-S", f"-I{paths.include()}", str(source), "-o", "-"]
    active = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    none = subprocess.run([*command, "-DNVALGRIND"], check=True, capture_output=True, text=True).stdout
    assert active.count("rolq") == 8 and "rol" not in none


MARKERS_32 = {
    "request": "c1c703c1c70dc1c71dc1c71387db",
    "nraddr": "c1c703c1c70dc1c71dc1c71387c9",
    "call": "c1c703c1c70dc1c71dc1c71387d2",
}
MARKERS_64 = {
    "request": "48c1c70348c1c70d48c1c73d48c1c7334887db",
    "nraddr": "48c1c70348c1c70d48c1c73d48c1c7334887c9",
    "call": "48c1c70348c1c70d48c1c73d48c1c7334887d2",
}


@pytest.mark.parametrize(("bits", "markers"), [(32, MARKERS_32), (64, MARKERS_64)])
def test_markers_byte_for_byte(tmp_path: Path, bits: int, markers: dict[str, str]) -> None:
    source, out = tmp_path / "bytes.c", tmp_path / "bytes.o"
    source.write_text(
        "#include <interpose/interpose.h>\n" + USE_WRAP + "int q(void) { return (int)RUNNING_ON_VALGRIND; }\n"
    )
    command = ["gcc", f"-m{bits}", "-O1", "-Wall", "-Wextra", "-Werror", "-c", f"-I{paths.include()}"]
    subprocess.run([*command, str(source), "-o", str(out)], check=True)
    code = out.read_bytes().hex()
    assert [code.count(marker) for marker in markers.values()] == [1, 2, 4]


@pytest.mark.parametrize("words", range(13))
def test_stack_of_a_32_bit_call(tmp_path: Path, words: int) -> None:
    """The pushes, and the padding that keeps the call 16-aligned."""
    kind = {0: "v", 1: "W", 2: "WW", 3: "WWW", 4: "WWWW"}.get(words, f"{words}W")
    arguments = "".join(f", {i}" for i in range(1, words + 1))
    source = tmp_path / "call.c"
    source.write_text(
        "#include <interpose/interpose.h>\n"
        f"long f(OrigFn fn) {{ long r; CALL_FN_W_{kind}(r, fn{arguments}); return r; }}\n"
    )
    command = ["gcc", "-m32", "-O1", "-S", f"-I{paths.include()}", str(source), "-o", "-"]
    text = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    inside = text[text.index("andl $-16, %esp") : text.index("movl (%eax), %eax")].split("\n")
    padding = sum(int(line.split("$")[1].split(",")[0]) for line in inside if "subl" in line)
    pushes = [line.split()[1] for line in inside if "pushl" in line]
    assert pushes == [f"{4 * i}(%eax)" for i in range(words, 0, -1)]
    assert (padding + 4 * words) % 16 == 0
