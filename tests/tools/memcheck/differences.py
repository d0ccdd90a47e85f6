"""Where our reports differ from those of Valgrind 3.19, on purpose: one table, with the reasons."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

from tools.memcheck.guests import EXPECTATIONS

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


def drop(*lines: str, count: int = 1) -> Edit:
    """An error's block that we do not have, by its first lines."""
    return sub("^" + "".join(re.escape(line) + r"\n" for line in lines) + r"(?:.+\n)*\n", "", count)


def wrong_size(file: str, at: int, size: int, block: int, made: int, how: str = "") -> str:
    """A sized delete with another size, which is an error since 3.22 (docs/spec/output.md section 3.1)."""
    aligned = ", std::align_val_t" if how == "memalign" else ""
    return (
        f"Mismatched new/delete size value: {size}\n"
        f"   at: operator delete(void*, unsigned long{aligned}) (replacement)\n"
        f"   by: main ({file}:{at})\n"
        f" Address 0x.. is 0 bytes inside a block of size {block} alloc'd\n"
        f"   at: {how or 'operator new(unsigned long)'} (replacement)\n   by: main ({file}:{made})\n\n"
    )


_CONDITION = "Conditional jump or move depends on uninitialised value(s)"


def _stored(name: str) -> str:
    """Our whole text, as it was looked at once: tests/guests/memcheck/expect/NAME.ours."""
    return re.escape((EXPECTATIONS / f"{name}.ours").read_text())


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


_STATIC_PIE = r"""status 0
----
Conditional jump or move depends on uninitialised value\(s\)
   at: main \(static_pie.c:7\)

Invalid write of size 4
   at: main \(static_pie.c:9\)
 Address 0x.. is 0 bytes after a block of size 8 alloc'd
   at: malloc \(replacement\)
   by: main \(static_pie.c:6\)


HEAP SUMMARY:
    in use at exit: \d+ bytes in 5 blocks
  total heap usage: 6 allocs, 1 frees, \d+ bytes allocated

5 bytes in 1 blocks are definitely lost in loss record 1 of 5
   at: malloc \(replacement\)
   by: main \(static_pie.c:11\)

LEAK SUMMARY:
   definitely lost: 5 bytes in 1 blocks
   indirectly lost: 0 bytes in 0 blocks
     possibly lost: 0 bytes in 0 blocks
   still reachable: \d+ bytes in 4 blocks
        suppressed: 0 bytes in 0 blocks
Reachable blocks \(those to which a pointer was found\) are not shown.
To see them, rerun with: --leak-check=full --show-leak-kinds=all

Use --track-origins=yes to see where uninitialised values come from
For lists of detected and suppressed errors, rerun with: -s
ERROR SUMMARY: 3 errors from 3 contexts \(suppressed: 0 from 0\)
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


def _overflow(name: str, caller: int) -> tuple[Edit, ...]:
    """The stack of endless recursion, although its end cannot be written; and the message about it once."""
    again = "Stack overflow in thread #1: can't grow stack to 0x..\n"
    frame = f"   by: down ({name}:{caller})\n"
    return (sub(rf"^{re.escape(again)}(   at: down .*\n)", rf"\1{frame * 11}"),)


_HINT = (
    " If you believe this happened as a result of a stack\n"
    " overflow in your program's main thread (unlikely but\n"
    " possible), you can try to increase the size of the\n"
    " main thread stack using the --main-stacksize= flag.\n"
    " The main thread stack size used in this run was 8388608.\n"
)

DIFFERENCES: dict[str, Difference] = {
    "ioctl_sockets": Difference(
        "what the kernel looks at has to be defined, not all behind the name; FIOGETOWN is known",
        (
            sub(r"^Syscall param ioctl\(SIOCETHTOOL,ir\) (?:.*\n)+?\n", ""),
            sub(r"^Warning: noted but unhandled ioctl 0x8903 (?:.*\n)+?\n", ""),
            total(4, 4),
        ),
    ),
    "ok_vector_counts": Difference(
        "of more buffers than it takes (UIO_MAXIOV) the kernel looks at none", _NO_ERRORS
    ),
    "time_left": Difference(
        "of a sleep until a given time that a signal ends nothing is told",
        own=_stored("time_left"),
    ),
    "aligned_blocks": Difference(
        "a replacement is one function: posix_memalign does not call memalign",
        (sub(r"   at: memalign \(replacement\)\n   by: posix_memalign", "   at: posix_memalign"),),
    ),
    "fortify_overflow": Difference(
        "3.19 prints from a function of its own",
        (sub(r"^   at: \?\?\? \(replacement\)\n   by: ", "   at: "),),
    ),
    "syscall_null": Difference(
        "3.19 looks at the first byte of some strings twice, and does not number the elements of vectors",
        (total(78, 78), sub(r"(\b(?:readv|writev)\(vector)\[\.\.\.\]", r"\1[0]")),
    ),
    "vectors_undefined": Difference(
        "3.19 does not number the elements of vectors", (sub(r"\(vector\[\.\.\.\]\)", "(vector[1])"),)
    ),
    "before_block": Difference("3.19 counts an invalid write of size 2 twice", (total(4, 4),)),
    "write_after_block": Difference("3.19 counts an invalid write of size 2 twice", (total(4, 4),)),
    "bit_changes_outside": Difference(
        "what an instruction reads and writes there counts once, as its read", (total(5, 5),)
    ),
    **{
        name: Difference("what an instruction reads and writes there counts once", (total(errors, contexts),))
        for name, errors, contexts in (
            ("partial_changes", 26, 26),
            ("option_partial_changes", 26, 26),
            ("option_partial_changes_strict", 34, 30),  # both halves of a pair, at one place
        )
    },
    "mem_functions_over": Difference("3.19 counts an invalid write of size 2 twice", (total(5, 4),)),
    "ok_x87_state": Difference(
        "in an image of the x87 state, 3.19 marks all registers if any one is undefined", _NO_ERRORS
    ),
    "long_double_library": Difference(
        "with --track-origins=yes 3.19 names the frame whose padding is beside the value, or nothing"
    ),
    "ok_vector_loops": Difference(
        "3.19 knows no AVX-512, for which it is compiled where the CPU has it",
        own=r"status 0\n----\n\nHEAP SUMMARY:(?:.|\n)*\nERROR SUMMARY: 0 errors from 0 contexts .*\n",
    ),
    "jump_data": Difference(
        "the call stack is kept, not guessed from rbp, so the caller is there",
        (sub(r"^   at: \?\?\? .*\n", "\\g<0>   by: dispatch (jump_data.c:4)\n"),),
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
    "jump_tagged": Difference(
        "the call stack is kept, so the caller is there; the fault is for the address, whatever is mapped",
        (
            sub(r"^   at 0x\.\.: \?\?\?\n", "\\g<0>   by: dispatch (jump_tagged.c:10)\n"),
            sub(r"Bad permissions for mapped region at address 0x\.\.", "General Protection Fault"),
        ),
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
    "below_heap_stack": Difference(
        "the call stack is kept, over a switch of stacks, too",
        (sub(r"^(   by: on_stack .*\n)", r"\1   by: main (below_heap_stack.c:29)\n"),),
    ),
    "ok_heap_below_stack": Difference(
        "what grows towards a stack in a heap block is told from the stack: no false reports",
        own="status 0\n----\n",
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
    "leak_heuristics": Difference(
        "records that were not there before are new ones since 3.21 (docs/spec/output.md section 6)",
        (sub(r"in loss record (6|9) of 11$", r"in new loss record \1 of 11", 2),),
    ),
    "mempool_leaks": Difference(
        "a record that was not there before is a new one since 3.21 (docs/spec/output.md section 6)",
        (sub(r"in loss record 2 of 8", "in new loss record 2 of 8", 1),),
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
                "----\n" + wrong_size("sized_delete.cpp", 8, 32, 16, 7),
            ),
            sub(
                r"^Mismatched free\(\)",
                wrong_size("sized_delete.cpp", 15, 32, 16, 14, "malloc") + "Mismatched free()",
            ),
            total(4, 4),
        ),
    ),
    "leak_exits": Difference(
        "what is reachable is no error, and ends nothing (3.27)",
        (
            sub(
                r"(by: main \(leak_exits.c:8\)\n\n)",
                r"\g<1>20 bytes in 1 blocks are definitely lost in loss record 2 of 3\n"
                "   at: malloc (replacement)\n   by: main (leak_exits.c:9)\n\n",
            ),
        ),
    ),
    "undefined_sizes": Difference(
        "sizes and alignments given to delete are looked at since 3.22", own=_stored("undefined_sizes")
    ),
    "odd_delete": Difference(
        "alignments given to delete are looked at since 3.22; as 3.27.1", own=_stored("odd_delete")
    ),
    "other_deletes": Difference(
        "alignments given to delete are looked at since 3.22; as 3.27.1, but that a delete with a size alone "
        "is told of a block that has an alignment",
        own=_stored("other_deletes"),
    ),
    "ok_folded_mallopt": Difference(
        "another allocator's mallopt is not replaced: it may be one with other functions",
        (sub(r"^status 2$", "status 0"),),
    ),
    "ok_shifted_zero": Difference("zero is zero, however far it is shifted", own="status 0\n----\n"),
    "ok_narrowed": Difference(
        "narrowing with saturation is exact where nothing saturates; 3.19 casts each element", _NO_ERRORS
    ),
    "vector_extremes": Difference(
        "minima and maxima are one source's element or the other's; 3.19 casts each element",
        own=_stored("vector_extremes"),
    ),
    "undefined_in_handlers_frame": Difference(
        "what a handler puts into its frame is in the registers afterwards, undefined or not; 3.19 keeps "
        "their V bits, and its frames have no upper halves",
        own=_stored("undefined_in_handlers_frame"),
    ),
    "ok_mmap_stacks": Difference(
        "a switch of stacks is recognised by region, not by distance: no false reports", _ONLY_SWITCHES
    ),
    "ok_stack_visit": Difference(
        "a value that RSP gets from elsewhere is another stack's: no false reports",
        (_ONLY_SWITCHES[0], total(0, 0)),
    ),
    "duplicated_pairs": Difference(
        "vmovddup fetches all of its 32 bytes, of which 3.19 reads the 16 that are used",
        (
            sub(
                r"\Z",
                "Invalid read of size 32\n"
                "   at: duplicate (duplicated_pairs.c:11)\n   by: main (duplicated_pairs.c:35)\n"
                " Address 0x.. is 0 bytes inside a block of size 24 alloc'd\n"
                "   at: malloc (replacement)\n   by: main (duplicated_pairs.c:32)\n\n",
                1,
            ),
        ),
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
    "alternate_stack": Difference(
        "the call stack is kept: it goes on behind a stack in the heap",
        (
            sub(
                r"(__pthread_kill_implementation.*)\n",
                r"\1\n   by: raise (raise.c:26)\n   by: main (alternate_stack.c:31)\n",
            ),
        ),
    ),
    "alternate_stack_above": Difference(
        "the call stack goes on behind a stack further up, and a jump from it gives up no frame between",
        own=_stored("alternate_stack_above"),
    ),
    "alternate_stack_looks_back": Difference(
        "the call stack goes on behind an alternate stack, so the frames that a signal interrupted are known",
        own=_stored("alternate_stack_looks_back"),
    ),
    "stack_overflow_thread": Difference(
        "the call stack goes on behind an alternate stack",
        (
            sub(
                r"^(   by: recurse \(stack_overflow_thread\.c:18\)\n)",
                r"\1" + 9 * "   by: recurse (stack_overflow_thread.c:21)\n",
            ),
        ),
    ),
    "ok_alternate_in_frame": Difference(
        "a jump from an alternate stack further up gives up no frame in between: no false reports",
        own=r"status 0\n----\n\nHEAP SUMMARY:(?:.|\n)*\nERROR SUMMARY: 0 errors from 0 contexts .*\n",
    ),
    "bad_argv": Difference("3.19 looks at the first byte of some strings twice", (total(9, 9),)),
    "huge_sizes": Difference(
        "3.19 counts a block that realloc did not get, has none for no elements of a negative size, and "
        "calls what reallocarray allocates anew malloc's",
        (
            sub(r"5 allocs, 1 frees, 1,152,921,504,606,846,986 bytes", "6 allocs, 2 frees, 10 bytes"),
            sub(
                r"function malloc (.*)\n   at: malloc (.*)\n   by: main (.*:20)",
                r"function reallocarray \1\n   at: reallocarray \2\n   by: main \3",
            ),
        ),
    ),
    "qsort_compares": Difference(
        "a register that was tested counts as defined until it is loaded anew (docs/memcheck.md)",
        (total(21, 16),),
    ),
    "sse_strings": Difference(
        "pcmpistri and pcmpestri look no further than the strings' ends, nor at other lanes",
        (
            drop(_CONDITION, "   at: main (sse_strings.c:12)"),
            drop(_CONDITION, "   at: main (sse_strings.c:14)"),
            total(3, 3),
        ),
    ),
    "tracee_bases": Difference(
        "PTRACE_ARCH_PRCTL writes where its address says",
        (
            drop(_CONDITION, "   at: main (tracee_bases.c:19)"),
            drop(_CONDITION, "   at: main (tracee_bases.c:20)"),
            sub("3 errors from 3 contexts", "1 errors from 1 contexts"),
        ),
    ),
    "wide_undefined": Difference(
        "wmemcmp is replaced (docs/spec/redirection.md section 6); 3.19 has two reads in its wcsrchr",
        (
            sub(r"__wmemcmp_avx2_movbe \(.*\)", "wmemcmp (replacement)"),
            sub(r"^Invalid read of size 4\n   at: wcsrchr.*\n.*\n Address 0x.. is 4 bytes(?:.+\n)*\n", ""),
            total(14, 9),
        ),
    ),
    "aligned_new": Difference(
        "sizes are compared since 3.22 (docs/spec/output.md section 3.1)",
        (
            sub(
                r"^(Mismatched free\(\) / delete / delete \[\]\n   at: operator delete.*"
                r"\n   by: main \(aligned_new.cpp:20)",
                wrong_size("aligned_new.cpp", 20, 64, 128, 19, "memalign") + "\\1",
            ),
            total(6, 6),
        ),
    ),
    "pool_allocator": Difference(
        "3.19 leaves what MEMPOOL_TRIM cuts off accessible when the chunk's beginning stays",
        (
            sub(
                r"^Illegal memory pool address\n   at: main \(pool_allocator.c:41",
                "Invalid write of size 1\n   at: main (pool_allocator.c:35)\n"
                " Address 0x.. is 0 bytes after a block of size 15 client-defined\n"
                "   at: take (pool_allocator.c:15)\n   by: main (pool_allocator.c:24)\n\n\\g<0>",
            ),
            total(7, 7),
        ),
    ),
    "static_pie": Difference(
        "functions of static programs are replaced too; Valgrind has no library in them to replace with",
        own=_STATIC_PIE,
    ),
    "option_children": Difference(
        "an executed program's report goes behind that of the one before it, where 3.19 empties the file",
        (
            sub(
                r"----\n",
                "----\nInvalid write of size 1\n   at: main (option_children.c:11)\n"
                " Address 0x.. is 0 bytes after a block of size 3 alloc'd\n"
                "   at: malloc (replacement)\n   by: main (option_children.c:9)\n\n",
            ),
        ),
    ),
    "option_descriptors": Difference(
        "open descriptors are errors since 3.21 (docs/spec/output.md section 3.1); the report's own file "
        "is not open in the program",
        (
            sub(r"6 open \(3 std\)", "5 open (3 inherited)"),
            sub(r"socket 5:", "socket 4:"),
            sub(r"descriptor 4:", "descriptor 3:"),
            sub(r"^Open file descriptor 3: @HERE.*\n.*\n\n", ""),
            total(2, 2),
        ),
    ),
    "option_markers": Difference(
        "nothing has called _start", (sub(r"^   by 0x\.\.: \?\?\?\n   by 0x37: \?\?\?\n", ""),)
    ),
    "option_realloc_keeps": Difference(
        "3.19 does not know --realloc-zero-bytes-frees: it frees",
        (sub("1 allocs, 1 frees", "2 allocs, 2 frees"),),
    ),
    "option_sigill": Difference(
        "the signal's code is the kernel's", (sub("Illegal opcode", "Illegal operand"),)
    ),
    "option_var_info": Difference(
        "3.19 does not know all operators of the C library's DWARF 5",
        (sub(r"^-- warning: evaluate_Dwarf3_Expr.*\n", ""),),
    ),
    "option_leak_tree_requested": Difference(
        "a record that was not there before is a new one since 3.21 (docs/spec/output.md section 6)",
        (sub(r"(\(\+\d\) blocks are .*) in loss", r"\1 in new loss"),),
    ),
    "leaks_vforked": Difference(
        "a record that was not there before is a new one since 3.21 (docs/spec/output.md section 6)",
        (sub(r"(\(\+1\) blocks are .*) in loss", r"\1 in new loss"),),
    ),
    "request_leak_deltas": Difference(
        "records that were not there before are new ones since 3.21 (docs/spec/output.md section 6)",
        (sub(r"(\(\+1\) blocks are .*) in loss", r"\1 in new loss"),),
    ),
    "request_block_lists": Difference(
        "records that were not there before are new ones since 3.21 (docs/spec/output.md section 6)",
        (sub(r"(\(\+\d\) blocks are .*) in loss", r"\1 in new loss"),),
    ),
    "loops_undefined": Difference(
        "a register that was tested counts as defined until it is loaded anew (docs/memcheck.md)",
        (total(2, 2),),
    ),
    "request_new_leaks": Difference(
        "3.19 does not know the search for new records: it searches as if for all",
        own=_stored("request_new_leaks"),
    ),
    "request_malloclike_nested": Difference(
        "of blocks that an address is near to, 3.19 takes the one that its table has first",
        own=_stored("request_malloclike_nested"),
    ),
    "sized_free": Difference(
        "sizes are compared since 3.22 (docs/spec/output.md section 3.1)",
        (
            sub(
                r"----\n",
                "----\n" + wrong_size("sized_free.cpp", 12, 4, 20, 10),
            ),
            total(2, 2),
        ),
    ),
    "sized_frees": Difference(
        "C23's functions are replaced, sizes and alignments compared since 3.26; as 3.27.1",
        own=_stored("sized_frees"),
    ),
    "request_inner": Difference(
        "3.19 crashes of the first and the last of these", own=_stored("request_inner")
    ),
    "request_odd": Difference(
        "3.19 does not know VALGRIND_REPLACES_MALLOC, and shows each LOAD_PDB_DEBUGINFO",
        (sub("^1 0\n", "1 1\n"), sub(r"^\nLOAD_PDB.*\n", "")),
    ),
    "request_stacks": Difference(
        "the call stack is kept: it shows who went to a new stack",
        (sub(r"^(   at: run .*\n)", r"\1   by: main (request_stacks.c:28)\n"),),
    ),
    "static_strings_over": Difference("functions of static programs are replaced too", own=_STATIC_STRINGS),
    "ok_static_strings": Difference(
        "functions of static programs are replaced too; the sum is that of a native run",
        own="status 0\nb8ad3e5bc1a552b9\n----\n",
    ),
    "stack_overflow": Difference("one message, and the whole stack", _overflow("stack_overflow.c", 2)),
    "stack_overflow_no_room": Difference(
        "one message, and the whole stack", _overflow("stack_overflow_no_room.c", 5)
    ),
    "static_program": Difference(
        "functions of static programs are replaced too; Valgrind has no library in them to replace with",
        own=_STATIC,
    ),
}


def origin(line: str, stack: str, how: str = "heap allocation") -> Edit:
    """An origin that 3.19 does not know, behind the error's frame with this line."""
    return sub(
        rf"^(   (?:at|by): .*{re.escape(line)}\)\n)(?=\n)",
        rf"\1 Uninitialised value was created by a {how}\n{stack}",
    )


ORIGINS: dict[str, Difference] = {
    "request_vbits": Difference(
        "SET_VBITS forgets what the memory's block is; here the block is the origin",
        (origin("request_vbits.c:17", "   at: malloc (replacement)\n   by: main (request_vbits.c:8)\n"),),
    ),
    "request_check_mem": Difference(
        "3.19 names the call before which it saw that main has a frame",
        (sub(r"(stack allocation\n   at: main \(request_check_mem.c:)6", r"\g<1>5"),),
    ),
    "request_conditional": Difference(
        "3.19 names the call before which it saw that main has a frame",
        (sub(r"(stack allocation\n   at: main \(request_conditional.c:)8", r"\g<1>7"),),
    ),
    "stack_arrays_over": Difference(
        "what lies below the stack is named by the frame above it, by 3.19 by the last call from there",
        (sub(r"(   at: main \(stack_arrays_over.c:)17", r"\g<1>15"),),
    ),
    "mremap_moves": Difference(
        "origins move with what mremap moves",
        (origin("mremap_moves.c:15", "   at: main (mremap_moves.c:11)\n", "client request"),),
    ),
    "realloc_directions": Difference(
        "bytes that realloc adds in place have their origin, too",
        (
            origin(
                "realloc_directions.c:20",
                "   at: realloc (replacement)\n   by: main (realloc_directions.c:13)\n",
            ),
        ),
    ),
    "register_halves": Difference(
        "origins of parts of registers are kept through partial writes",
        tuple(
            origin(
                f"register_halves.c:{line}",
                "   at: malloc (replacement)\n   by: main (register_halves.c:5)\n",
            )
            for line in (23, 26)
        ),
    ),
    "vla_undefined": Difference(
        "the array is named, by 3.19 a call before it whose red zone the bytes had been",
        (sub(r"(   at: main \(vla_undefined.c:)15", r"\g<1>17"),),
    ),
}
