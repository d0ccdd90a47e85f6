"""The index of many suppressions finds what a look at each of them finds."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.report.errors import Error, ErrorKind
from interpose.report.stack import BELOW_MAIN_TEXT, ResolvedFrame
from interpose.report.suppression_index import SuppressionIndex
from interpose.report.suppressions import FramePattern, Suppression, Suppressions
from interpose.tools.memcheck.errors import suppression_component

WORDS = st.sampled_from(["f", "g", "main", "ff", "lib.so", "a.c"])
PATTERNS = st.sampled_from(["f", "f*", "*f", "m?in", "*", "?", "lib*", "*.c", "g", "d/a.c"])
LINES = st.one_of(
    st.just(FramePattern("")),
    st.builds(FramePattern, st.sampled_from(["fun", "obj"]), PATTERNS),
    st.builds(FramePattern, st.just("src"), PATTERNS, st.sampled_from([None, 1, 2])),
    st.just(FramePattern("obj", "*")),
)
FRAMES = st.builds(
    ResolvedFrame,
    st.just(0),
    symbol=st.one_of(st.none(), WORDS, st.just(BELOW_MAIN_TEXT)),
    name=st.none(),
    obj=st.one_of(st.none(), WORDS),
    dir=st.one_of(st.none(), st.just("d")),
    file=st.one_of(st.none(), WORDS),
    line=st.sampled_from([None, 1, 2]),
    raw_symbol=st.one_of(st.none(), WORDS),
)
KIND = ErrorKind("InvalidRead", "Addr1", "Memcheck")


def entry(number: int, frames: list[FramePattern]) -> Suppression:
    return Suppression(f"s{number}", "file", number, "Memcheck", "Addr1", None, None, tuple(frames))


@settings(max_examples=500)
@given(
    st.lists(st.lists(LINES, min_size=1, max_size=5), min_size=1, max_size=12),
    st.lists(st.lists(FRAMES, max_size=5), min_size=1, max_size=4),
    st.integers(1, 5),
)
def test_candidates(
    files: list[list[FramePattern]], stacks: list[list[ResolvedFrame]], num_callers: int
) -> None:
    entries = [entry(number, lines) for number, lines in enumerate(files)]
    index = SuppressionIndex(entries, num_callers)
    error = Error(KIND, 1, ("what",), ())
    for frames in stacks:
        found = index.candidates(frames)
        assert found == [each for each in entries if each in found]
        matching = [each for each in entries if each.matches(error, frames, num_callers)]
        assert [each for each in found if each.matches(error, frames, num_callers)] == matching


def text(names: range) -> str:
    return "".join(f"{{\n s{n}\n Memcheck:Addr1\n fun:f{n}\n ...\n fun:main\n}}\n" for n in names)


def test_files_that_come_later_count_too() -> None:
    many = Suppressions([suppression_component()])
    many.add(text(range(100)))
    error = Error(KIND, 1, ("what",), ())

    def first(function: str) -> str | None:
        frames = [ResolvedFrame(1, function, function), ResolvedFrame(2, "main", "main")]
        found = many.match(error, frames, 12)
        return found.name if found is not None else None

    assert (first("f7"), first("f100"), first("g")) == ("s7", None, None)
    many.add(text(range(90, 110)))
    assert (first("f95"), first("f100"), first("main")) == ("s95", "s100", None)
    assert [each.count for each in many.used()] == [1, 1, 1]


def test_few_are_taken_from_many() -> None:
    entries = [
        entry(n, [FramePattern("fun", "malloc"), FramePattern(""), FramePattern("fun", f"f{n}*")])
        for n in range(50)
    ]
    index = SuppressionIndex(entries, 12)
    frames = [ResolvedFrame(1, "malloc", "malloc"), ResolvedFrame(2, "f17x", "f17x")]
    assert {each.name for each in index.candidates(frames)} == {"s1", "s17"}
