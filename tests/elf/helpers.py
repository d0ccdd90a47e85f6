"""What several tests of interpose.elf need."""

from __future__ import annotations

import glob
import os
from heapq import heapify, heappop, heappush
from pathlib import Path

from interpose.elf.image import Image
from interpose.elf.symbolizer import Symbolizer
from interpose.elf.symtab import function_symbols
from interpose.redir import Symbol


def in_bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogateescape")


def in_text(name: bytes) -> str:
    return name.decode("utf-8", "surrogateescape")


def preference(name: str) -> tuple[int, int, bytes]:
    """Sort key of the names of one address: the least is the one shown.

    Fewest bytes before the version, then `@@` before `@` before no version, then the order of bytes.
    """
    return (len(in_bytes(name.partition("@")[0])), -name.count("@"), in_bytes(name))


def pieces_by_the_rule(rows: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """(start, end, name) of the disjoint pieces that symbols (value, size, name) make.

    Of two symbols that start together the longer one starts where the shorter ends; otherwise the earlier one
    ends where the later starts, and what it had behind the later one belongs to nobody.
    """
    best: dict[tuple[int, int], str] = {}
    for value, size, name in rows:
        other = best.setdefault((value, value + size), name)
        best[value, value + size] = min(name, other, key=preference)
    heap = [(start, end, in_bytes(name)) for (start, end), name in best.items()]
    heapify(heap)
    found = []
    while heap:
        start, end, name = heappop(heap)
        while heap and heap[0][0] < end:
            other_start, other_end, other_name = heap[0]
            if other_start > start:
                end = other_start
                break
            heappop(heap)
            if other_end > end:
                heappush(heap, (end, other_end, other_name))
            else:
                names = (in_text(name), in_text(other_name))
                name = in_bytes(min(*names, key=preference))
        found.append((start, end, in_text(name)))
    return found


C_SOURCE = """\
#include <stdlib.h>
int table[10] = {1};
static volatile char scratch[64];
static volatile int sink;
const int constants[4] = {1, 2, 3, 4};
static inline __attribute__((always_inline)) int leaf(int *p, int i)
{
    return p[i] + 1;                            /* IN_LEAF */
}
static inline __attribute__((always_inline)) int mid(int *p, int i)
{
    return leaf(p, i) * 3;                      /* IN_MID */
}
__attribute__((noinline)) int outer(int *p)
{                                               /* OUTER_START */
    return mid(p, 5);                           /* IN_OUTER */
}
int main(int argc, char **argv)
{
    int *volatile p = malloc(16);
    scratch[argc] = 1;
    int r = outer(p) + table[argc] + scratch[argc + 1] + constants[argc & 3];
    sink = r;
    free(p);
    return 0;
}
"""

CXX_SOURCE = """\
#include <cstdlib>
namespace ns {
template <class T> struct Box {
    T *p;
    __attribute__((always_inline)) T get(int i) const
    {
        return p[i] * 7;                        /* IN_GET */
    }
    __attribute__((always_inline)) T operator[](int i) const
    {
        return p[i] * 9;                        /* IN_SUBSCRIPT */
    }
};
__attribute__((noinline)) int use(const Box<int> &b, int i)
{
    return b.get(i) + b[i + 20];                /* IN_USE */
}
}
int main(int argc, char **argv)
{
    ns::Box<int> b{(int *)malloc(4)};
    volatile int sink = ns::use(b, argc);
    return 0;
}
"""


def libraries(*names: str) -> list[str]:
    """Real paths of those of the system libraries that are installed."""
    found: list[str] = []
    for name in names:
        places = glob.glob(f"/lib/x86_64-linux-gnu/{name}") + glob.glob(f"/lib64/{name}")
        found += [os.path.realpath(place) for place in places[:1]]
    return found


def line_of(source: str, marker: str) -> int:
    """Number of the line that holds the comment `marker`."""
    return next(n for n, text in enumerate(source.splitlines(), 1) if f"/* {marker} */" in text)


def map_image(symbolizer: Symbolizer, path: Path | str, base: int) -> int:
    """Announce the segments of a file as a loader maps them at `base`; returns the load bias."""
    image = Image.open(str(path))
    bias = base - (image.load_base & ~0xFFF)
    file = symbolizer.object_at(str(path))
    for header in image.load_segments:
        start = header.vaddr & ~0xFFF
        end = header.vaddr + header.filesz + 0xFFF & ~0xFFF
        symbolizer.add_mapping(file, bias + start, end - start, header.offset & ~0xFFF)
    return bias


def symbol_of(path: Path | str, name: str) -> tuple[int, int]:
    """Link-time address and size of a symbol."""
    return next((s.value, s.size) for s in Image.open(str(path)).symtab if s.name == name)


def text_symbols(image: Image) -> list[Symbol]:
    """What the redirection core is told of a file, symbol by symbol."""
    return list(map(Symbol, *function_symbols(image)))
