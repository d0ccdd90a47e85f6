"""The end of a run: heap summary, loss records, leak summary, error summary."""

from __future__ import annotations

import pytest
from report.reporting import Bench, bench
from tools.memcheck.report.test_leak import GLOBALS, Memory, at, vtables

from interpose.records import replace
from interpose.tools.memcheck.heap import AllocKind, HeapBlock, HeapStats
from interpose.tools.memcheck.loss import Delta, LeakOptions, LeakReporter
from interpose.tools.memcheck.summary import EndOptions, HeapEnd, finish

ALL = frozenset({"definite", "indirect", "possible", "reachable"})
FULL = LeakOptions(full=True)


def block(number: int, size: int, line: int = 10, kind: AllocKind = AllocKind.MALLOC) -> HeapBlock:
    """Block ``number`` of the heap, allocated by main at a line."""
    return HeapBlock(at(number), size, kind, (1, 100 + line))


def leak_bench(**options) -> tuple[Bench, LeakReporter]:
    b = bench(**options)
    b.symbols.add(1, "malloc", obj="/lib/stubs.so")
    for line in range(60):
        b.symbols.add(100 + line, "main", "b.c", line)
    return b, LeakReporter(b.log, b.errors)


def end(b: Bench, leaks: LeakReporter, heap: list[HeapBlock], memory: Memory, **options) -> str:
    leak_options = options.pop("leak", LeakOptions())
    verbosity = b.errors.options.verbosity
    stats = HeapStats(19, 8, 1153, sum(each.size for each in heap), len(heap))
    finish(
        b.log, b.errors, leaks,
        HeapEnd(stats, lambda: heap, memory, replace(leak_options, verbosity=verbosity)),
        EndOptions(options.pop("leak_check", "full"), verbosity=verbosity, **options),
        undefined_seen=options.pop("undefined_seen", False),
    )  # fmt: skip
    return b.log.take()


def test_an_empty_program():
    b, leaks = leak_bench()
    finish(
        b.log, b.errors, leaks, HeapEnd(HeapStats(), list, Memory(), FULL), EndOptions(), undefined_seen=False
    )
    assert b.log.text() == (
        "==1== \n"
        "==1== HEAP SUMMARY:\n"
        "==1==     in use at exit: 0 bytes in 0 blocks\n"
        "==1==   total heap usage: 0 allocs, 0 frees, 0 bytes allocated\n"
        "==1== \n"
        "==1== All heap blocks were freed -- no leaks are possible\n"
        "==1== \n"
        "==1== For lists of detected and suppressed errors, rerun with: -s\n"
        "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n"
    )


def test_without_leak_check():
    b, leaks = leak_bench()
    assert end(b, leaks, [block(0, 31)], Memory(), leak_check="no").splitlines()[2:] == [
        "==1==     in use at exit: 31 bytes in 1 blocks",
        "==1==   total heap usage: 19 allocs, 8 frees, 1,153 bytes allocated",
        "==1== ",
        "==1== For a detailed leak analysis, rerun with: --leak-check=full",
        "==1== ",
        "==1== For lists of detected and suppressed errors, rerun with: -s",
        "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)",
    ]


def test_summary_only():
    b, leaks = leak_bench()
    text = end(b, leaks, [block(0, 10_000)], Memory(), leak_check="summary", leak=LeakOptions())
    assert text.split("allocated\n")[1] == (
        "==1== \n"
        "==1== LEAK SUMMARY:\n"
        "==1==    definitely lost: 10,000 bytes in 1 blocks\n"
        "==1==    indirectly lost: 0 bytes in 0 blocks\n"
        "==1==      possibly lost: 0 bytes in 0 blocks\n"
        "==1==    still reachable: 0 bytes in 0 blocks\n"
        "==1==         suppressed: 0 bytes in 0 blocks\n"
        "==1== Rerun with --leak-check=full to see details of leaked memory\n"
        "==1== \n"
        "==1== For lists of detected and suppressed errors, rerun with: -s\n"
        "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n"
    )


def example() -> tuple[list[HeapBlock], Memory]:
    """A cycle, a chain of three, twice the same leak, one possibly lost, two reachable."""
    heap = [
        block(0, 32, 12), block(1, 32, 13),
        block(2, 40, 14), block(3, 48, 15), block(4, 56, 16),
        block(5, 7, 17), block(6, 7, 17),
        block(7, 200, 18), block(8, 80, 19), block(9, 88, 20),
    ]  # fmt: skip
    memory = Memory(
        words={
            at(0): at(1),
            at(1): at(0),
            at(2): at(3),
            at(3): at(4),
            GLOBALS: at(7, 8),
            GLOBALS + 8: at(8),
            at(8): at(9),
        }
    )
    return heap, memory


def record(what: str, line: int) -> str:
    return (
        f"==1== {what}\n"
        "==1==    at 0x1: malloc (in /lib/stubs.so)\n"
        f"==1==    by 0x{100 + line:X}: main (b.c:{line})\n"
        "==1== \n"
    )


def test_all_records():
    b, leaks = leak_bench()
    heap, memory = example()
    text = end(b, leaks, heap, memory, leak=replace(FULL, show_kinds=ALL))
    assert text.split("allocated\n")[1] == (
        "==1== \n"
        + record("14 bytes in 2 blocks are definitely lost in loss record 1 of 9", 17)
        + record("32 bytes in 1 blocks are indirectly lost in loss record 2 of 9", 13)
        + record("48 bytes in 1 blocks are indirectly lost in loss record 3 of 9", 15)
        + record("56 bytes in 1 blocks are indirectly lost in loss record 4 of 9", 16)
        + record(
            "64 (32 direct, 32 indirect) bytes in 1 blocks are definitely lost in loss record 5 of 9", 12
        )
        + record("80 bytes in 1 blocks are still reachable in loss record 6 of 9", 19)
        + record("88 bytes in 1 blocks are still reachable in loss record 7 of 9", 20)
        + record(
            "144 (40 direct, 104 indirect) bytes in 1 blocks are definitely lost in loss record 8 of 9", 14
        )
        + record("200 bytes in 1 blocks are possibly lost in loss record 9 of 9", 18)
        + "==1== LEAK SUMMARY:\n"
        "==1==    definitely lost: 86 bytes in 4 blocks\n"
        "==1==    indirectly lost: 136 bytes in 3 blocks\n"
        "==1==      possibly lost: 200 bytes in 1 blocks\n"
        "==1==    still reachable: 168 bytes in 2 blocks\n"
        "==1==         suppressed: 0 bytes in 0 blocks\n"
        "==1== \n"
        "==1== For lists of detected and suppressed errors, rerun with: -s\n"
        "==1== ERROR SUMMARY: 4 errors from 4 contexts (suppressed: 0 from 0)\n"
    )


def test_by_default_indirect_and_reachable_records_are_hidden():
    b, leaks = leak_bench()
    heap, memory = example()
    text = end(b, leaks, heap, memory, leak=FULL)
    numbers = [line.split("record ")[1] for line in text.splitlines() if "loss record" in line]
    assert numbers == ["1 of 9", "5 of 9", "8 of 9", "9 of 9"]
    assert (
        "==1== Reachable blocks (those to which a pointer was found) are not shown.\n"
        "==1== To see them, rerun with: --leak-check=full --show-leak-kinds=all\n"
        "==1== \n"
    ) in text


def test_kinds_shown_and_kinds_counted_are_independent():
    b, leaks = leak_bench()
    heap, memory = example()
    options = replace(FULL, show_kinds=frozenset({"indirect"}), error_kinds=frozenset({"reachable"}))
    text = end(b, leaks, heap, memory, leak=options)
    assert text.count("loss record") == 3
    assert "ERROR SUMMARY: 2 errors from 2 contexts" in text


@pytest.mark.parametrize(("resolution", "records"), [("low", 1), ("med", 2), ("high", 3)])
def test_resolution(resolution, records):
    b, leaks = leak_bench()
    stacks = [(1, 2, 3, 4, 5), (1, 2, 3, 4, 6), (1, 2, 3, 7, 6)]
    heap = [HeapBlock(at(number), 8, alloc_stack=stack) for number, stack in enumerate(stacks)]
    leaks.run(heap, Memory(), replace(FULL, resolution=resolution))
    assert len(leaks.listed) == records
    assert b.log.text().count("definitely lost in loss record") == records


def test_records_of_equal_size_are_ordered_by_state():
    _, leaks = leak_bench()
    heap = [block(0, 32, 1), block(1, 32, 2), block(2, 32, 3)]
    memory = Memory(words={GLOBALS: at(2), GLOBALS + 8: at(1, 8)})
    leaks.run(heap, memory, replace(FULL, show_kinds=ALL))
    assert [each.state.word for each in leaks.listed] == ["reachable", "possible", "definite"]


def test_heuristics_in_the_summary():
    b, leaks = leak_bench()
    heap = [block(0, 64, 1), block(1, 88, 2, AllocKind.NEW_ARRAY), block(2, 32, 3), block(3, 39, 4)]
    memory = Memory(
        words={
            GLOBALS: at(0, 8),
            at(0): 56,
            GLOBALS + 8: at(1, 8),
            at(1): 5,
            GLOBALS + 24: at(3),
            GLOBALS + 16: at(2, 16),
            at(2): 0x30_0010,
            at(2, 16): 0x30_0040,
            **vtables(),
        }
    )
    leaks.run(heap, memory, FULL)
    assert (
        "==1==    still reachable: 223 bytes in 4 blocks\n"
        "==1==                       of which reachable via heuristic:\n"
        "==1==                         length64           : 64 bytes in 1 blocks\n"
        "==1==                         newarray           : 88 bytes in 1 blocks\n"
        "==1==                         multipleinheritance: 32 bytes in 1 blocks\n"
        "==1==         suppressed: 0 bytes in 0 blocks\n"
    ) in b.log.text()


SUPPRESS = "{\n s2 leak\n Memcheck:Leak\n match-leak-kinds: definite,possible\n fun:malloc\n fun:main\n}\n"


def test_suppressed_leaks():
    b, leaks = leak_bench(supp=SUPPRESS, show_error_list="yes")
    heap, memory = example()
    text = end(b, leaks, heap, memory, leak=FULL)
    assert text.split("allocated\n")[1] == (
        "==1== \n"
        "==1== LEAK SUMMARY:\n"
        "==1==    definitely lost: 0 bytes in 0 blocks\n"
        "==1==    indirectly lost: 136 bytes in 3 blocks\n"
        "==1==      possibly lost: 0 bytes in 0 blocks\n"
        "==1==    still reachable: 168 bytes in 2 blocks\n"
        "==1==         suppressed: 286 bytes in 5 blocks\n"
        "==1== Reachable blocks (those to which a pointer was found) are not shown.\n"
        "==1== To see them, rerun with: --leak-check=full --show-leak-kinds=all\n"
        "==1== \n"
        "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 4 from 4)\n"
        "--1-- \n"
        "--1-- used_suppression:      4 s2 leak s.supp:2 suppressed: 422 bytes in 5 blocks\n"
        "==1== \n"
        "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 4 from 4)\n"
    )


def test_suppressions_work_in_a_summary_too_but_do_not_count():
    b, leaks = leak_bench(supp=SUPPRESS)
    text = end(b, leaks, [block(0, 31)], Memory(), leak_check="summary", leak=LeakOptions())
    assert "suppressed: 31 bytes in 1 blocks" in text
    assert "Rerun with" not in text
    assert "(suppressed: 0 from 0)" in text


def test_a_second_search_starts_the_suppressed_bytes_anew():
    b, leaks = leak_bench(supp=SUPPRESS)
    for _ in range(2):
        leaks.run([block(0, 31)], Memory(), FULL)
    entry = b.suppressions.used()[0]
    assert (entry.count, entry.bytes, entry.blocks) == (2, 31, 1)


def test_verbose():
    b, leaks = leak_bench(verbosity=2)
    text = end(b, leaks, [block(0, 31, 1), block(1, 2, 2)], Memory(), leak=FULL)
    assert (
        "==1== Searching for pointers to 2 not-freed blocks\n"
        "==1== Checked 49,152 bytes\n"
        "==1== \n"
        "==1== 2 bytes in 1 blocks"
    ) in text


def test_quiet_shows_leaks_only():
    b, leaks = leak_bench(verbosity=0)
    text = end(b, leaks, [block(0, 31, 7)], Memory(), leak=FULL)
    assert text == record("31 bytes in 1 blocks are definitely lost in loss record 1 of 1", 7)


@pytest.mark.parametrize(
    ("verbosity", "tracked", "seen", "hint"),
    [(1, False, True, 1), (2, False, True, 1), (1, True, True, 0), (1, False, False, 0), (0, False, True, 0)],
)
def test_hint_about_origins(verbosity, tracked, seen, hint):
    b, leaks = leak_bench(verbosity=verbosity)
    options = EndOptions(track_origins=tracked, verbosity=verbosity)
    how = LeakOptions(verbosity=verbosity)
    finish(b.log, b.errors, leaks, HeapEnd(HeapStats(), list, Memory(), how), options, seen)
    text = "==1== Use --track-origins=yes to see where uninitialised values come from"
    assert b.log.lines.count(text) == hint


# -- several searches: a port of a run observed with valgrind's client requests


def test_delta_modes():
    b, leaks = leak_bench()
    first = [block(0, 10, 1), block(1, 250, 2)]
    words = {GLOBALS: at(0), GLOBALS + 8: at(1, 8)}
    leaks.run(first, Memory(words=dict(words)), FULL)
    b.log.take()

    second = [*first, block(2, 30, 3), block(3, 50, 4), block(4, 50, 5)]
    words[GLOBALS + 16] = at(4)
    leaks.run(second, Memory(words=dict(words)), replace(FULL, delta=Delta.CHANGED))
    assert b.log.take() == (
        record("30 (+30) bytes in 1 (+1) blocks are definitely lost in new loss record 2 of 5", 3)
        + record("50 (+50) bytes in 1 (+1) blocks are definitely lost in new loss record 4 of 5", 4)
        + "==1== LEAK SUMMARY:\n"
        "==1==    definitely lost: 80 (+80) bytes in 2 (+2) blocks\n"
        "==1==    indirectly lost: 0 (+0) bytes in 0 (+0) blocks\n"
        "==1==      possibly lost: 250 (+0) bytes in 1 (+0) blocks\n"
        "==1==    still reachable: 60 (+50) bytes in 2 (+1) blocks\n"
        "==1==         suppressed: 0 (+0) bytes in 0 (+0) blocks\n"
        "==1== Reachable blocks (those to which a pointer was found) are not shown.\n"
        "==1== To see them, rerun with: --leak-check=full --show-leak-kinds=all\n"
        "==1== \n"
    )

    leaks.run(second, Memory(words=dict(words)), replace(FULL, delta=Delta.INCREASED))
    assert "loss record" not in b.log.take()

    third = [*second, block(5, 50, 6)]
    words[GLOBALS + 16] = at(5)
    leaks.run(third, Memory(words=dict(words)), replace(FULL, delta=Delta.INCREASED))
    text = b.log.take()
    # The record of the block that was reachable stays for one search, empty.
    assert text.startswith(
        record("50 (+50) bytes in 1 (+1) blocks are definitely lost in new loss record 6 of 7", 5)
    )
    assert "definitely lost: 130 (+50) bytes in 3 (+1) blocks" in text

    leaks.run(third, Memory(words=dict(words)), LeakOptions())
    assert "definitely lost: 130 bytes in 3 blocks" in b.log.take()


def test_sums_alone_are_compared_with_later():
    """Of a search that told nothing but sums the next one knows each record."""
    full, sums = leak_bench(), leak_bench()
    first = [block(0, 10, 1), block(1, 250, 2), block(2, 7, 9)]
    second = [block(0, 10, 1), block(1, 250, 2), block(3, 30, 2), block(4, 50, 5)]
    words = {GLOBALS: at(1, 8)}
    texts = []
    for (b, leaks), told in ((full, FULL), (sums, LeakOptions())):
        leaks.run(first, Memory(words=dict(words)), told)
        before = b.log.take()
        assert "possibly lost: 250 bytes in 1 blocks" in before and "definitely lost: 17 bytes in 2" in before
        assert ("loss record" in before) == told.full
        leaks.run(second, Memory(words=dict(words)), replace(FULL, delta=Delta.CHANGED))
        texts.append(b.log.take())
    assert texts[0] == texts[1]
    assert "0 (-7) bytes in 0 (-1) blocks are definitely lost" in texts[1]
    assert "50 (+50) bytes in 1 (+1) blocks are definitely lost in new loss record" in texts[1]


def test_suppressed_sums():
    """What a suppression matches goes to its total, whether records are shown or not."""
    b, leaks = leak_bench()
    b.suppressions.add("{\n s\n Memcheck:Leak\n fun:malloc\n}\n")
    leaks.run([block(0, 10, 1), block(1, 20, 2)], Memory(), LeakOptions())
    text = b.log.take()
    assert "suppressed: 30 bytes in 2 blocks" in text and "definitely lost: 0 bytes" in text


def test_a_decrease():
    b, leaks = leak_bench()
    leaks.run([block(0, 20, 1), block(1, 20, 1), block(2, 8, 2)], Memory(), FULL)
    b.log.take()
    options = replace(FULL, delta=Delta.CHANGED)
    leaks.run([block(0, 20, 1)], Memory(), options)
    text = b.log.take()
    assert record("20 (-20) bytes in 1 (-1) blocks are definitely lost in loss record 2 of 2", 1) in text
    assert record("0 (-8) bytes in 0 (-1) blocks are definitely lost in loss record 1 of 2", 2) in text
    leaks.run([block(0, 20, 1)], Memory(), replace(FULL, delta=Delta.INCREASED))
    assert "loss record" not in b.log.take()


def test_only_new_records():
    b, leaks = leak_bench()
    leaks.run([block(0, 20, 1)], Memory(), FULL)
    b.log.take()
    leaks.run([block(0, 20, 1), block(1, 20, 1), block(2, 8, 2)], Memory(), replace(FULL, delta=Delta.NEW))
    assert [line for line in b.log.lines if "record" in line] == [
        "==1== 8 (+8) bytes in 1 (+1) blocks are definitely lost in new loss record 1 of 2"
    ]


def test_indirect_amounts_change_too():
    b, leaks = leak_bench()
    leaks.run([block(0, 20, 1)], Memory(), FULL)
    b.log.take()
    memory = Memory(words={at(0): at(1)})
    leaks.run([block(0, 20, 1), block(1, 30, 2)], memory, replace(FULL, delta=Delta.INCREASED))
    assert (
        "==1== 50 (+30) (20 (+0) direct, 30 (+30) indirect) bytes in 1 (+0) blocks "
        "are definitely lost in loss record 2 of 2"
    ) in b.log.lines


def test_a_limit_keeps_the_largest():
    b, leaks = leak_bench()
    heap = [block(number, 8 * (number + 1), number) for number in range(5)]
    for limit, shown in ((2, 2), (0, 0), (9, 5)):
        leaks.run(heap, Memory(), replace(FULL, max_shown=limit))
        lines = [line for line in b.log.lines if "loss record" in line]
        assert len(lines) == shown
        if limit == 2:
            assert "record 4 of 5" in lines[0]
        b.log.take()


def test_searches_of_the_monitor():
    b, leaks = leak_bench()
    heap, memory = example()
    leaks.run(heap, memory, replace(FULL, count_errors=False, from_monitor=True))
    assert b.errors.errors_found == 0
    assert b.log.lines[-2] == "==1== To see them, add 'reachable any' args to leak_check"
    leaks.run(heap, memory, LeakOptions(from_monitor=True))
    assert b.log.lines[-2] == "==1== To see details of leaked memory, give 'full' arg to leak_check"


def test_counts_for_client_requests():
    _, leaks = leak_bench(supp="{\n s\n Memcheck:Leak\n fun:malloc\n obj:none\n}\n")
    assert {name: totals.bytes for name, totals in leaks.count().items()} == dict.fromkeys(
        ("leaked", "dubious", "reachable", "suppressed"), 0
    )
    heap, memory = example()
    leaks.run(heap, memory, LeakOptions())
    assert {name: (totals.bytes, totals.blocks) for name, totals in leaks.count().items()} == {
        "leaked": (222, 7),
        "dubious": (200, 1),
        "reachable": (168, 2),
        "suppressed": (0, 0),
    }


def test_leaks_without_stacks_are_reported_together():
    b, leaks = leak_bench()
    heap = [HeapBlock(at(0), 8), HeapBlock(at(1), 8)]
    leaks.run(heap, Memory(), FULL)
    assert b.log.lines[:2] == [
        "==1== 16 bytes in 2 blocks are definitely lost in loss record 1 of 1",
        "==1== ",
    ]


@pytest.mark.parametrize("killed_at", [0, 1, 2])
def test_nothing_is_lost_in_a_program_that_is_killed_meanwhile(killed_at: int) -> None:
    """Before the search, in it (no pointer can be read then), or before stacks are read."""
    b, leaks = leak_bench()
    text = end(b, leaks, [block(0, 31)], Memory(killed_at=killed_at), leak=FULL)
    assert "The program was killed; what it leaked is not known" in text
    assert "lost" not in text and "0 errors from 0 contexts" in text
    assert leaks.last is None and leaks.listed == []


def test_no_block_was_freed_in_a_program_that_is_killed() -> None:
    b, leaks = leak_bench()
    assert "no leaks" not in end(b, leaks, [], Memory(killed_at=0), leak=FULL)


def test_generated_leak_suppressions():
    b, leaks = leak_bench(gen_suppressions="all")
    leaks.run([block(0, 8, 1)], Memory(), FULL)
    start = b.log.lines.index("{")
    assert b.log.lines[start : start + 7] == [
        "{",
        "   <insert_a_suppression_name_here>",
        "   Memcheck:Leak",
        "   match-leak-kinds: definite",
        "   fun:malloc",
        "   fun:main",
        "}",
    ]
