"""Client requests from Python: eight instructions in a page of this process, called through ctypes."""

from __future__ import annotations

import ctypes
import mmap

RUNNING = 0x1001
REPORT_MARK = 0x1204
LEAK_CHECK = 0x4D430006

_CODE = bytes.fromhex(
    "4889f8"  # mov %rdi, %rax: the six words
    "4889f2"  # mov %rsi, %rdx: the default answer
    "48c1c703 48c1c70d 48c1c73d 48c1c733"  # the marker
    "4887db"
    "4889d0"  # mov %rdx, %rax
    "c3"
)
_function = None
_page: mmap.mmap | None = None


def request(number: int, *arguments: int, default: int = 0) -> int:
    """The answer to a request (docs/spec/client-requests.md section 2); ``default`` natively."""
    global _function, _page
    if _function is None:
        _page = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
        _page.write(_CODE)
        address = ctypes.addressof(ctypes.c_char.from_buffer(_page))
        prototype = ctypes.PYFUNCTYPE(ctypes.c_uint64, ctypes.c_void_p, ctypes.c_uint64)
        _function = prototype(address)
    words = (ctypes.c_uint64 * 6)(number, *arguments, *[0] * (5 - len(arguments)))
    return int(_function(ctypes.addressof(words), default))


def is_running() -> bool:
    """Whether an engine runs this process."""
    return request(RUNNING) > 0


def mark(text: str) -> bool:
    """A mark in the report; true if there is a report, in which all that was found before stands now."""
    data = ctypes.create_string_buffer(text.encode("utf-8", "replace"))
    return request(REPORT_MARK, ctypes.addressof(data)) == 1


def search_leaks() -> None:
    """Search for leaks; blocks that are lost since the last search are records of the report."""
    request(LEAK_CHECK, 0, 1)
