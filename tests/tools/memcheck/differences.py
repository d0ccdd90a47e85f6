"""Where our reports differ from those of Valgrind 3.19, on purpose: one table, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Edit = Callable[[str], str]


def sub(pattern: str, replacement: str, count: int = 0) -> Edit:
    """A regular expression replaced in Valgrind's text, which must occur there."""

    def edit(text: str) -> str:
        changed, times = re.subn(pattern, replacement, text, count=count, flags=re.MULTILINE)
        if not times:
            raise ValueError(f"a difference that is not there: {pattern}")
        return changed

    return edit


def total(errors: int, contexts: int) -> Edit:
    """Another ERROR SUMMARY."""
    return sub(
        r"^ERROR SUMMARY: \d+ errors from \d+ contexts",
        f"ERROR SUMMARY: {errors} errors from {contexts} contexts",
    )


@dataclass(frozen=True)
class Difference:
    """What to change in Valgrind's text to get ours, and why."""

    reason: str
    edits: tuple[Edit, ...] = ()
    own: str | None = None
    """A pattern of our whole text: by construction, where Valgrind's is no guide."""
    subset: bool = False
    """Our errors are some of Valgrind's: the rest are repetitions."""


_NO_ERRORS = (
    sub(r"----\n(?:.|\n)*?\nHEAP SUMMARY", "----\n\nHEAP SUMMARY"),
    sub(r"^Use --track-origins=yes .*\n", ""),
    total(0, 0),
)
_SWITCH = (
    "Warning: client switching stacks?  SP change: 0x.. --> 0x..\n"
    "         to suppress, use: --max-stackframe=N or greater\n"
)
_ONLY_SWITCHES = (
    sub(r"----\n(?:.|\n)*?\nHEAP SUMMARY", f"----\n{_SWITCH * 2}\nHEAP SUMMARY"),
    *_NO_ERRORS[1:],
)
_STATIC = r"""status 0
----
Invalid read of size 4
   at: main \(static_program.c:8\)
 Address 0x.. is 0 bytes after a block of size 16 alloc'd
   at: malloc \(replacement\)
   by: main \(static_program.c:7\)

Conditional jump or move depends on uninitialised value\(s\)
   at: main \(static_program.c:9\)

Invalid read of size 4
   at: main \(static_program.c:12\)
 Address 0x.. is 4 bytes inside a block of size 16 free'd
   at: free \(replacement\)
   by: main \(static_program.c:11\)
 Block was alloc'd at
   at: malloc \(replacement\)
   by: main \(static_program.c:7\)

10 bytes in 1 blocks are definitely lost in loss record \d+ of \d+
   at: malloc \(replacement\)
   by: main \(static_program.c:13\)

"""


def _over(kind: str, function: str, line: int, block: int, size: int) -> str:
    """A string function of static_strings_over.c, just behind a block."""
    return rf"""Invalid {kind}
   at: {function} \(replacement\)
   by: main \(static_strings_over.c:{line}\)
 Address 0x.. is 0 bytes after a block of size {size} alloc'd
   at: malloc \(replacement\)
   by: main \(static_strings_over.c:{block}\)

"""


_STATIC_STRINGS = (
    "status 0\n----\n"
    + _over("read of size 1", "strlen", 15, 9, 6)
    + _over("read of size 1", "strcmp", 16, 9, 6) * 2
    + _over("read of size 1", "strncmp", 17, 9, 6) * 2
    + _over("read of size 1", "index", 18, 9, 6)
    + _over("read of size 1", "rindex", 19, 9, 6)
    + r"""Conditional jump or move depends on uninitialised value\(s\)
   at: bcmp \(replacement\)
   by: main \(static_strings_over.c:20\)

"""
    + _over("read of size 1", "memchr", 21, 9, 6)
    + _over("read of size 1", "strnlen", 22, 9, 6)
    + _over("read of size 4", "wcslen", 23, 10, 12)
    + _over("read of size 1", "memmove", 24, 9, 6)
    + _over("write of size 1", "memset", 25, 9, 6)
    + _over("write of size 1", "strcpy", 26, 9, 6)
)
_OVERFLOW = r"""status -11
----
Stack overflow in thread #1: can't grow stack to 0x..

Process terminating with default action of signal 11 \(SIGSEGV\)
 Access not within mapped region at address 0x..
   at: down \(stack_overflow.c:\d\)
(?:   by: down \(stack_overflow.c:5\)
){11} If you believe (?:.*\n)*
HEAP SUMMARY:
(?:.*\n)*ERROR SUMMARY: 0 errors from 0 contexts \(suppressed: 0 from 0\)
"""
_HINT = (
    " If you believe this happened as a result of a stack\n"
    " overflow in your program's main thread (unlikely but\n"
    " possible), you can try to increase the size of the\n"
    " main thread stack using the --main-stacksize= flag.\n"
    " The main thread stack size used in this run was 8388608.\n"
)

DIFFERENCES: dict[str, Difference] = {
    "aligned_blocks": Difference(
        "a replacement is one function: posix_memalign does not call memalign",
        (sub(r"   at: memalign \(replacement\)\n   by: posix_memalign", "   at: posix_memalign"),),
    ),
    "syscall_null": Difference(
        "3.19 looks at the first byte of some strings twice, and does not number the elements of vectors",
        (total(77, 77), sub(r"(\b(?:readv|writev)\(vector)\[\.\.\.\]", r"\1[0]")),
    ),
    "vectors_undefined": Difference(
        "3.19 does not number the elements of vectors", (sub(r"\(vector\[\.\.\.\]\)", "(vector[1])"),)
    ),
    "before_block": Difference("3.19 counts an invalid write of size 2 twice", (total(4, 4),)),
    "write_after_block": Difference("3.19 counts an invalid write of size 2 twice", (total(4, 4),)),
    "bit_changes_outside": Difference(
        "what an instruction reads and writes there counts once, as its read", (total(5, 5),)
    ),
    "mem_functions_over": Difference("3.19 counts an invalid write of size 2 twice", (total(5, 4),)),
    "float_undefined": Difference(
        "what the x87 loads is tested at the load (docs/memcheck.md), not followed",
        (
            sub(
                r"Conditional jump or move depends on uninitialised value\(s\)\n"
                r"   at: main \(float_undefined.c:11\)",
                "Use of uninitialised value of size 10\n   at: main (float_undefined.c:11)",
            ),
        ),
    ),
    "jump_null": Difference(
        "the call stack is kept, not guessed from rbp, so the caller is there; and nothing is mapped at 0, "
        "where Valgrind's own process reports a protection",
        (
            sub(r"^   at 0x0: \?\?\?\n", "   at 0x0: ???\n   by: dispatch (jump_null.c:6)\n"),
            sub("Bad permissions for mapped region", "Access not within mapped region"),
            sub(r"\n\nHEAP SUMMARY", f"\n{_HINT}\nHEAP SUMMARY"),
        ),
    ),
    "origin_elsewhere": Difference(
        "whose frame it is on another thread's stack is not looked for",
        (sub(r" Uninitialised value was created by a stack allocation\n   at: run \(.*\)\n", ""),),
    ),
    "leak_thread": Difference(
        "clone3 is passed on, and named clone as in Valgrind, which makes the C library use clone",
        (sub(r"clone \(clone\.S:\d+\)", "clone (clone3.S:81)"),),
    ),
    "request_disabled": Difference(
        "clone3 is passed on, and named clone as in Valgrind, which makes the C library use clone",
        (sub(r"clone \(clone\.S:\d+\)", "clone (clone3.S:81)"),),
    ),
    "thread_errors": Difference(
        "clone3 is passed on, and named clone as in Valgrind, which makes the C library use clone",
        (sub(r"clone \(clone\.S:\d+\)", "clone (clone3.S:81)"),),
    ),
    "memalign_bad": Difference(
        "invalid alignments are errors since 3.22 (docs/spec/output.md section 3.1); memalign, in this C "
        "library one function with aligned_alloc, rounds up",
        (
            sub(
                r"----\n",
                "----\n"
                "Invalid alignment value: 24 "
                "(should be non-zero, a power of 2 and a multiple of sizeof(void*))\n"
                "   at: posix_memalign (replacement)\n   by: main (memalign_bad.c:9)\n\n"
                "Invalid alignment value: 24 (should be power of 2)\n"
                "   at: memalign (replacement)\n   by: main (memalign_bad.c:11)\n\n",
            ),
            total(2, 2),
        ),
    ),
    "ok_swapcontext": Difference(
        "a switch of stacks is recognised by region, not by distance: no false reports", _ONLY_SWITCHES
    ),
    "printf_double_undefined": Difference(
        "sums are exact to the bit (docs/memcheck.md): an undefined digit is 0x30 to 0x3f, never the decimal "
        "point, and of a small count only the low bits are undefined, never its sign",
        subset=True,
    ),
    "realloc_zero": Difference(
        "realloc(p, 0) is an error since 3.21 (docs/spec/output.md section 3.1)",
        (
            sub(
                r"----\n",
                "----\nrealloc() with size 0\n   at: realloc (replacement)\n   by: main (realloc_zero.c:6)\n"
                " Address 0x.. is 0 bytes inside a block of size 10 alloc'd\n"
                "   at: malloc (replacement)\n   by: main (realloc_zero.c:5)\n\n",
            ),
            total(1, 1),
        ),
    ),
    "request_leaks": Difference(
        "a record that was not there before is a new one since 3.21 (docs/spec/output.md section 6)",
        (sub(r"in loss record 2 of 4", "in new loss record 2 of 4", 1),),
    ),
    "sized_delete": Difference(
        "sizes are compared since 3.22 (docs/spec/output.md section 3.1)",
        (
            sub(
                r"----\n",
                "----\nMismatched new/delete size value: 32\n"
                "   at: operator delete(void*, unsigned long) (replacement)\n"
                "   by: main (sized_delete.cpp:8)\n"
                " Address 0x.. is 0 bytes inside a block of size 16 alloc'd\n"
                "   at: operator new(unsigned long) (replacement)\n   by: main (sized_delete.cpp:7)\n\n",
            ),
            sub(
                r"^Mismatched free\(\)",
                "Mismatched new/delete size value: 32\n"
                "   at: operator delete(void*, unsigned long) (replacement)\n"
                "   by: main (sized_delete.cpp:15)\n"
                " Address 0x.. is 0 bytes inside a block of size 16 alloc'd\n"
                "   at: malloc (replacement)\n   by: main (sized_delete.cpp:14)\n\n"
                "Mismatched free()",
            ),
            total(4, 4),
        ),
    ),
    "ok_mmap_stacks": Difference(
        "a switch of stacks is recognised by region, not by distance: no false reports", _ONLY_SWITCHES
    ),
    "ok_stack_visit": Difference(
        "a value that RSP gets from elsewhere is another stack's: no false reports",
        (_ONLY_SWITCHES[0], total(0, 0)),
    ),
    "stack_frames_greater": Difference(
        "a great frame is addressable, switch or not: no false reports",
        (
            sub(
                r"----\n(?:.|\n)*?\nHEAP SUMMARY",
                f"----\n{_SWITCH * 3}         further instances of this message will not be shown.\n"
                "\nHEAP SUMMARY",
            ),
            total(0, 0),
        ),
    ),
    "static_strings_over": Difference("functions of static programs are replaced too", own=_STATIC_STRINGS),
    "ok_static_strings": Difference(
        "functions of static programs are replaced too; the sum is that of a native run",
        own="status 0\nb8ad3e5bc1a552b9\n----\n",
    ),
    "stack_overflow": Difference(
        "one message, and the stack although its end cannot be written", own=_OVERFLOW
    ),
    "static_program": Difference(
        "functions of static programs are replaced too; Valgrind has no library in them to replace with",
        own=_STATIC,
    ),
}
