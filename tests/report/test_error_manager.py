"""Comparing, counting, limiting and listing errors; whole texts as an error detector prints them."""

from __future__ import annotations

import pytest
from report.reporting import Bench, bench

from interpose.report.errors import AuxPart, Error, ErrorKind, Outcome

READ = ErrorKind("InvalidRead", "Addr1", "Memcheck")


def error(*stack: int, tid: int = 1, name: str | None = None, **more) -> Error:
    return Error(READ, tid, ("Invalid read of size 1",), stack, thread_name=name, **more)


def functions(b: Bench, *names: str) -> None:
    for number, name in enumerate(names, 1):
        b.symbols.add(number, name, "a.c", number)


def test_an_error_block():
    b = bench()
    functions(b, "f", "main", "free", "malloc")

    def describe():
        return [
            AuxPart("Address 0x10 is 4 bytes inside a block of size 16 free'd", (3, 2)),
            AuxPart("Block was alloc'd at", (4, 2)),
        ]

    assert b.errors.report(error(1, 2), describe) is Outcome.SHOWN
    assert b.log.text() == (
        "==1== Invalid read of size 1\n"
        "==1==    at 0x1: f (a.c:1)\n"
        "==1==    by 0x2: main (a.c:2)\n"
        "==1==  Address 0x10 is 4 bytes inside a block of size 16 free'd\n"
        "==1==    at 0x3: free (a.c:3)\n"
        "==1==    by 0x2: main (a.c:2)\n"
        "==1==  Block was alloc'd at\n"
        "==1==    at 0x4: malloc (a.c:4)\n"
        "==1==    by 0x2: main (a.c:2)\n"
        "==1== \n"
    )


def test_a_header_marks_a_change_of_thread():
    b = bench()
    b.errors.report(error(1))
    b.errors.report(error(2, tid=2, name="worker<&>"))
    b.errors.report(error(3, tid=2, name="worker<&>"))
    b.errors.report(error(4, tid=1))
    b.errors.report(error(5, tid=3))
    headers = [line for line in b.log.lines if "Thread" in line]
    assert headers == ["==1== Thread 2 worker<&>:", "==1== Thread 1:", "==1== Thread 3:"]


def test_markers():
    b = bench(markers=("BEGIN", "END"))
    b.errors.report(error())
    assert b.log.text() == "==1== BEGIN\n==1== Invalid read of size 1\n==1== \n==1== END\n"
    b = bench(markers=("", "E"))
    b.errors.report(error())
    assert b.log.text() == "==1== Invalid read of size 1\n==1== \n==1== E\n"


def test_suppressions_in_the_list_and_on_request():
    """Not for what is suppressed, and not where somebody was asked."""
    supp = "{\n s\n Memcheck:Addr1\n fun:f\n}\n"
    for wanted, times in (("all", 3), ("no", 0)):
        b = bench(gen_suppressions=wanted, supp=supp)
        b.symbols.add(1, "f")
        b.symbols.add(2, "g")
        b.errors.report(error(1))
        b.errors.report(error(2))
        b.errors.show_list(also_suppressed=True)
        b.errors.show_last()
        assert b.log.text().count("   fun:g\n}\n") == times
        assert "   fun:f\n}" not in b.log.text()


def test_markers_in_the_list_and_on_request():
    b = bench(markers=("BEGIN", "END"))
    b.errors.report(error())
    block = b.log.text()
    b.errors.show_list()
    assert b.log.text() == f"{block}==1== \n==1== 1 errors in context 1 of 1:\n{block}"
    b.errors.show_last()
    assert b.log.text().endswith(f"1 errors in context 1 of 1:\n{block}{block}")


def test_errors_agreeing_in_four_frames_are_one():
    b = bench()
    assert b.errors.report(error(1, 2, 3, 4, 5)) is Outcome.SHOWN
    assert b.errors.report(error(1, 2, 3, 4, 6)) is Outcome.DUPLICATE
    assert b.errors.report(error(1, 2, 3, 7, 5)) is Outcome.SHOWN
    assert b.errors.report(error(1, 2, 3, 4, 5, extra=2)) is Outcome.SHOWN
    assert b.errors.summary_line() == "ERROR SUMMARY: 4 errors from 3 contexts (suppressed: 0 from 0)"


def test_the_description_is_asked_for_once():
    b = bench(supp="{\n s\n Memcheck:Addr1\n fun:g\n}\n")
    functions(b, "f", "g")
    asked = []
    for stack in (1, 1, 2, 2):
        b.errors.report(error(stack), lambda stack=stack: asked.append(stack) or ())
    assert asked == [1]


def test_after_a_hundred_errors_two_frames_are_compared():
    b = bench()
    for number in range(100):
        b.errors.report(error(number, 1, 2, 3))
    assert "More than" not in b.log.take()
    b.errors.report(error(100, 1, 2, 3))
    assert b.log.take() == (
        "==1== \n"
        "==1== More than 100 errors detected.  Subsequent errors\n"
        "==1== will still be recorded, but in less detail than before.\n"
        "==1== Invalid read of size 1\n"
        "==1==    at 0x64: ???\n"
        "==1==    by 0x1: ???\n"
        "==1==    by 0x2: ???\n"
        "==1==    by 0x3: ???\n"
        "==1== \n"
    )
    assert b.errors.report(error(5, 1, 77)) is Outcome.DUPLICATE
    assert b.errors.report(error(5, 2, 77)) is Outcome.SHOWN


LIMIT = (
    "==1== Final error counts will be inaccurate.  Go fix your program!\n"
    "==1== Rerun with --error-limit=no to disable this cutoff.  Note\n"
    "==1== that errors may occur in your program without prior warning from\n"
    "==1== Valgrind, because errors are no longer being displayed.\n"
    "==1== \n"
)


def test_a_thousand_different_errors_are_enough():
    b = bench()
    for number in range(1000):
        b.errors.report(error(number))
    b.log.take()
    assert b.errors.report(error(1000)) is Outcome.OVER_LIMIT
    assert b.errors.report(error(3)) is Outcome.OVER_LIMIT
    assert b.log.take() == (
        "==1== \n==1== More than 1000 different errors detected.  I'm not reporting any more.\n" + LIMIT
    )
    assert b.errors.summary_line() == "ERROR SUMMARY: 1000 errors from 1000 contexts (suppressed: 0 from 0)"


def test_without_error_limit_all_are_shown():
    b = bench(error_limit=False)
    for number in range(1001):
        assert b.errors.report(error(number)) is Outcome.SHOWN


def test_ten_million_errors_are_enough(monkeypatch):
    monkeypatch.setattr("interpose.report.errors.MAX_FOUND", 10)
    b = bench()
    for _ in range(12):
        b.errors.report(error(1))
    assert "More than 10 total errors detected.  I'm not reporting any more.\n" + LIMIT in b.log.text()
    assert b.errors.errors_found == 10


def test_loss_records_count_for_limits_and_say_nothing_of_them():
    """Seen with Valgrind 3.19: what a limit has to say comes with the next error that is compared."""
    b = bench()
    for number in range(150):
        assert b.errors.report_unique(error(number), show=True, counts=True) is Outcome.SHOWN
    assert not any("More than" in line for line in b.log.lines)
    b.errors.report(error(150))
    assert sum("More than 100 errors detected" in line for line in b.log.lines) == 1
    for number in range(151, 1150):
        b.errors.report_unique(error(number), show=True, counts=True)
    assert not any("More than 1000" in line for line in b.log.lines)
    assert b.errors.report(error(1150)) is Outcome.OVER_LIMIT
    assert sum("More than 1000 different errors" in line for line in b.log.lines) == 1


def test_exit_on_first_error():
    b = bench(exit_on_first_error=True, error_exitcode=9, supp="{\n s\n Memcheck:Addr1\n fun:f\n}\n")
    functions(b, "f")
    b.errors.report(error(1))
    assert not b.errors.must_exit
    b.errors.report(error(2))
    assert b.errors.must_exit
    assert b.log.lines[-2:] == ["==1== ", "==1== Exit program on first error (--exit-on-first-error=yes)"]


def test_what_is_shown_but_no_error_ends_nothing():
    b = bench(exit_on_first_error=True, error_exitcode=9)
    b.errors.report_unique(error(1), show=True, counts=False)
    assert not b.errors.must_exit and b.errors.exit_status(3) == 3
    b.errors.report_unique(error(2), show=True, counts=True)
    assert b.errors.must_exit and b.errors.exit_status(3) == 9


def test_exit_status():
    b = bench(error_exitcode=9)
    assert b.errors.exit_status(3) == 3
    b.errors.report(error(1))
    assert b.errors.exit_status(3) == 9
    assert bench().errors.exit_status(3) == 3


def test_generated_suppressions_follow_the_error_unprefixed():
    b = bench(gen_suppressions="all")
    functions(b, "f", "main")
    b.errors.report(error(1, 2))
    b.errors.report(error())
    assert b.log.text() == (
        "==1== Invalid read of size 1\n"
        "==1==    at 0x1: f (a.c:1)\n"
        "==1==    by 0x2: main (a.c:2)\n"
        "==1== \n"
        "{\n"
        "   <insert_a_suppression_name_here>\n"
        "   Memcheck:Addr1\n"
        "   fun:f\n"
        "   fun:main\n"
        "}\n"
        "==1== Invalid read of size 1\n"
        "==1== \n"
        "==1== (No origin, error cannot be suppressed)\n"
    )


PROMPT = "==1== ---- Print suppression ? --- [Return/N/n/Y/y/C/c] ---- \n"


@pytest.mark.parametrize(
    ("answers", "prompts", "printed"),
    [
        ("y\n\nN\n", [1, 1, 1], [True, False, False]),
        ("n\nY\ny\n", [1, 1, 1], [False, True, True]),
        ("C\ny\n", [1, 0, 0], [False, False, False]),
        ("y\nc\ny\n", [1, 1, 0], [True, False, False]),
        ("yes\n\nq\ny\n", [3, 1, 2], [False, False, False]),
        (" y\n", [2, 1, 0], [True, False, False]),
        ("", [1, 0, 0], [False, False, False]),
        ("y", [1, 0, 0], [False, False, False]),
        ("Y\nn", [1, 1, 0], [True, False, False]),
        ("ny", [2, 0, 0], [False, False, False]),
    ],
)
def test_the_prompt_for_suppressions(answers, prompts, printed):
    """Character by character as Valgrind reads them: a letter, the end of the line; else it asks again."""
    b = bench(gen_suppressions="yes", answers=answers)
    found = []
    for number in range(1, 4):
        b.errors.report(error(number))
        found.append(b.log.take())
    assert [text.count(PROMPT) for text in found] == prompts
    assert ["insert_a_suppression" in text for text in found] == printed
    assert all(("==1== \n==1== \n" + PROMPT in text) == (PROMPT in text) for text in found)


def test_no_errors_no_list():
    b = bench(show_error_list="yes")
    b.errors.finish()
    assert b.log.text() == "==1== ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)\n"


def test_the_end_without_a_list():
    b = bench()
    b.errors.report(error(1))
    b.log.take()
    b.errors.finish(["Use --this"])
    assert b.log.text() == (
        "==1== Use --this\n"
        "==1== For lists of detected and suppressed errors, rerun with: -s\n"
        "==1== ERROR SUMMARY: 1 errors from 1 contexts (suppressed: 0 from 0)\n"
    )


@pytest.mark.parametrize("listing", ["no", "yes"])
def test_quiet(listing):
    b = bench(verbosity=0, show_error_list=listing)
    b.errors.report(error(1))
    b.log.take()
    b.errors.finish(["Use --this"])
    assert b.log.text().count("ERROR SUMMARY") == (2 if listing == "yes" else 0)
    assert "Use --this" not in b.log.text()


def test_the_list_is_by_count_then_by_what_happened_last():
    b = bench(show_error_list="yes")
    functions(b, "A", "B", "C", "D")
    for char in "ABBACCCDCD":
        b.errors.report(error("ABCD".index(char) + 1))
    b.log.take()
    b.errors.finish()
    listed = [b.log.lines[at + 2].split()[3] for at, line in enumerate(b.log.lines) if "in context" in line]
    assert listed == ["D", "A", "B", "C"]


def test_the_list_as_a_whole():
    b = bench(
        show_error_list="yes",
        supp="{\n s1\n Memcheck:Addr1\n fun:h\n}\n{\n s2\n Memcheck:Addr1\n fun:i\n}\n"
        "{\n never\n Memcheck:Cond\n fun:i\n}\n",
    )
    functions(b, "f", "g", "h", "i")
    for stack, tid in ((1, 1), (1, 1), (2, 2), (3, 1), (3, 1), (4, 1)):
        b.errors.report(error(stack, tid=tid))
    b.log.take()
    b.errors.finish()
    assert b.log.text() == (
        "==1== ERROR SUMMARY: 3 errors from 2 contexts (suppressed: 3 from 2)\n"
        "==1== \n"
        "==1== 1 errors in context 1 of 2:\n"
        "==1== Invalid read of size 1\n"
        "==1==    at 0x2: g (a.c:2)\n"
        "==1== \n"
        "==1== \n"
        "==1== 2 errors in context 2 of 2:\n"
        "==1== Thread 1:\n"
        "==1== Invalid read of size 1\n"
        "==1==    at 0x1: f (a.c:1)\n"
        "==1== \n"
        "--1-- \n"
        "--1-- used_suppression:      1 s2 s.supp:7\n"
        "--1-- used_suppression:      2 s1 s.supp:2\n"
        "==1== \n"
        "==1== ERROR SUMMARY: 3 errors from 2 contexts (suppressed: 3 from 2)\n"
    )


def test_the_list_with_suppressed_errors():
    b = bench(show_error_list="all", supp="{\n s1\n Memcheck:Addr1\n fun:f\n}\n")
    functions(b, "f", "g")
    b.errors.report(error(1), lambda: [AuxPart("Address 0x1 is")])
    b.errors.report(error(2))
    b.log.take()
    b.errors.show_list()
    assert b.log.text() == (
        "==1== \n"
        "==1== 1 errors in context 1 of 2:\n"
        "==1== Invalid read of size 1\n"
        "==1==    at 0x2: g (a.c:2)\n"
        "==1== \n"
        "==1== \n"
        "==1== 1 errors (suppressed by s1) in context 2 of 2:\n"
        "==1== Invalid read of size 1\n"
        "==1==    at 0x1: f (a.c:1)\n"
        "==1==  Address 0x1 is\n"
        "==1== \n"
    )


def test_unique_errors_are_counted_but_not_listed():
    b = bench(show_error_list="yes")
    assert b.errors.report_unique(error(1), show=True, counts=True) is Outcome.SHOWN
    assert b.errors.report_unique(error(1), show=False, counts=True) is Outcome.HIDDEN
    assert b.errors.report_unique(error(1), show=True, counts=False) is Outcome.SHOWN
    assert b.errors.summary_line() == "ERROR SUMMARY: 2 errors from 2 contexts (suppressed: 0 from 0)"
    b.log.take()
    b.errors.finish()
    assert "in context" not in b.log.text()
    assert b.log.text().count("ERROR SUMMARY") == 1
