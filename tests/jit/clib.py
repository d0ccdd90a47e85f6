"""Single files of the translator, built by themselves: tests call the shipped text and nothing else."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import Any

import cffi

ROOT = Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu17", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC", f"-I{ROOT / 'interpose'}"]


def build(where: Path, *sources: Path) -> Path:
    """A shared library of these sources alone (an undefined name is an error)."""
    library = where / (sources[0].stem + ".so")
    words = ["cc", *FLAGS, "-Wl,-z,defs", "-o", str(library), *map(str, sources)]
    subprocess.run(words, check=True)
    return library


def declarations(header: Path) -> str:
    """Types and prototypes of a header, for cffi: without comments, directives and inline functions."""
    text = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.DOTALL)
    text = re.sub(
        r"^static inline [^{]*\{.*?^\}$|^static inline .*\}$", "", text, flags=re.DOTALL | re.MULTILINE
    )
    return "\n".join(line for line in text.splitlines() if not line.startswith("#"))


def load(library: Path, *texts: str) -> tuple[Any, Any]:
    ffi = cffi.FFI()
    for text in texts:
        ffi.cdef(text)
    return ffi, ffi.dlopen(str(library))
