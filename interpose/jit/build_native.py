"""Write the C source of ``interpose.jit._native`` (cffi, API mode): ``build_native.py OUT.c HEADER...``.

The declarations are the project's own headers, so that runtime, translator and Python read one text.  cffi's
parser knows neither ``#ifdef``/``#include`` nor expressions in ``#define``; both are taken out here: each
object-like macro is declared as ``#define NAME ...``, whose value the compiler then supplies.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi

# Of libc: os.execve takes a mapping, which cannot hold every environment a process may have.
_LIBC = "int fexecve(int fd, char *const argv[], char *const envp[]);"

_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_DEFINE = re.compile(r"#\s*define\s+([A-Za-z_]\w*)(\(?)[ \t]*(.*)")


def declarations(text: str) -> str:
    """What cffi can parse of a header: types, prototypes, and macros whose values the compiler supplies."""
    text = _COMMENT.sub(" ", text).replace("\\\n", " ")
    kept: list[str] = []
    for line in text.splitlines():
        stripped = line.strip()
        if not stripped.startswith("#"):
            if not stripped.startswith(("_Static_assert", "static_assert")):
                kept.append(line)
            continue
        match = _DEFINE.match(stripped)
        if match and match[2] == "" and match[3].strip() and '"' not in match[3]:
            kept.append(f"#define {match[1]} ...")
    return "\n".join(kept)


def main(argv: list[str]) -> None:
    output, *headers = argv
    ffi = cffi.FFI()
    ffi.cdef(_LIBC)
    for header in headers:
        ffi.cdef(declarations(Path(header).read_text()))
    includes = "".join(f'#include "{Path(header).resolve()}"\n' for header in headers)
    ffi.set_source(
        "interpose.jit._native",
        f"#define _GNU_SOURCE\n#include <stdint.h>\n#include <stddef.h>\n#include <unistd.h>\n{includes}",
    )
    ffi.emit_c_code(output)


if __name__ == "__main__":
    main(sys.argv[1:])
