"""Conditions choose exactly the accesses that they describe, also when the reading begins in the middle."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from dgview.traces import Access, build_guest, key, rows, write_program, write_random

from interpose.dgview import conditions
from interpose.dgview.index import Index
from interpose.dgview.symbols import Symbols, without_parameters
from interpose.formats import datagrind

EVENTS: dict[str, tuple[dict, Callable[[Access], bool]]] = {
    "all": ({}, lambda a: True),
    "label": (
        {"by_event": True, "event_labels": [b"one"]},
        lambda a: b"one" in a.events,
    ),
    "labels": (
        {"by_event": True, "event_labels": [b"three", b"two"]},
        lambda a: bool({b"three", b"two"} & a.events),
    ),
    "instruction": (
        {"by_event": True, "event_ips": [0x1004, 0x1100]},
        lambda a: bool({0x1004, 0x1100} & a.ips),
    ),
    "caller": (
        {"by_event": True, "event_ips": [0x900F, 0x901F], "event_labels": [b"two"]},
        lambda a: bool({0x900F, 0x901F} & a.ips) or b"two" in a.events,
    ),
}
RANGES: dict[str, tuple[dict, Callable[[Access], bool]]] = {
    "all": ({}, lambda a: True),
    "malloc": ({"by_range": True, "any_block": True}, lambda a: bool(a.blocks)),
    "range": ({"by_range": True, "any_range": True}, lambda a: bool(a.labels)),
    "label": ({"by_range": True, "range_labels": [b"one"]}, lambda a: b"one" in a.labels),
    "stack": (
        {"by_range": True, "range_ips": [0xA000, 0xA00F, 0xA01F]},
        lambda a: any({0xA000, 0xA00F, 0xA01F} & ips for ips in a.blocks),
    ),
    "label or stack": (
        {"by_range": True, "range_ips": [0xA010], "range_labels": [b"two"]},
        lambda a: b"two" in a.labels or any(0xA010 in ips for ips in a.blocks),
    ),
}


@pytest.mark.parametrize("seed", range(6))
def test_filters(seed, tmp_path):
    path = tmp_path / "f"
    seen = write_random(path, seed, 700)
    chosen = set()
    whole = datagrind.Trace(path, collect_ips=True)
    for _ in whole.chunks():
        pass
    for event, (event_words, event_matches) in EVENTS.items():
        for name, (range_words, range_matches) in RANGES.items():
            expected = [key(a) for a in seen if event_matches(a) and range_matches(a)]
            wanted = datagrind.Filter(**event_words, **range_words)
            trace = datagrind.Trace(path, filter=wanted)
            found, places = [], [(datagrind.bulk.Place(16, 0, 0, 0, 0), 0)]
            for chunk in trace.chunks(datagrind.Accesses(9)):
                found += rows(chunk)
                if trace.place is not None:
                    places.append((trace.place, len(found)))
            assert found == expected, (event, name)
            chosen.add(len(expected))
            for place, given in places[::7]:
                for one in (trace, whole.filtered(wanted)):
                    again = [row for chunk in one.again(place, None) for row in rows(chunk)]
                    assert again == expected[given:], (event, name, place)
            for (begin, first), (end, last) in pairwise(places[::5]):
                buffer = bytearray(100)
                between = whole.filtered(wanted).again(
                    begin, None, datagrind.Accesses(7), until=end, empty=True, buffer=buffer
                )
                assert [row for chunk in between for row in rows(chunk)] == expected[first:last]
    assert len(chosen) > 12


def test_ranges_of_all_sizes_that_come_and_go(tmp_path):
    """What is remembered of pages is right where they share a place in the table, and for large ranges."""
    rng = random.Random(3)
    live: list[tuple[int, int]] = []
    expected = []
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        context = w.context(w.bbdef([(1, 1)] * 16, [(0, 1, n) for n in range(16)]), [1])
        for _ in range(600):
            if live and rng.random() < 0.45:
                entry = live.pop(rng.randrange(len(live)))
                w.untrack_range(*entry)
            else:
                at = 0x100000 + (rng.randrange(3) << 23) + rng.randrange(3 << 12)
                live.append((at, rng.choice([1, 7, 8, 16, 100, 4096, 9000, 1 << 23, 1 << 25])))
                w.track_range(*live[-1], "x")
            edges = [
                at + n for at, length in rng.choices(live or [(0x5000, 1)], k=8) for n in (0, length - 1)
            ]
            addresses = [edge + rng.randrange(-9, 10) for edge in edges]
            w.bbrun(context, 16, addresses)
            expected += [a for a in addresses if any(at <= a < at + length for at, length in live)]
    wanted = datagrind.Filter(by_range=True, any_range=True)
    found = [
        row[1] for chunk in datagrind.Trace(tmp_path / "f", filter=wanted).chunks() for row in rows(chunk)
    ]
    assert found == expected


def test_an_end_of_a_second_reading(tmp_path):
    seen = write_random(tmp_path / "f", 3)
    trace = datagrind.Trace(tmp_path / "f")
    for _ in trace.chunks():
        pass
    for end in (0, 5, 100, 400):
        again = [
            row
            for chunk in trace.again(datagrind.bulk.Place(16, 0, 0, 0, 0), end, datagrind.Accesses(8))
            for row in rows(chunk)
        ]
        assert again == [key(a) for a in seen][: len(again)]
        assert {row for row in again if row[0] < end} == {key(a) for a in seen if a.instr < end}


# ---- Words ----


@pytest.mark.parametrize(
    "word", ["malloc", "range", "fn:", "fn", "", "x:y", "user:", "Malloc", "malloc:", "fn:a,"]
)
def test_a_word_that_is_none_for_events(word):
    with pytest.raises(conditions.ConditionError) as caught:
        conditions.parse(word, ranges=False)
    assert caught.value.exit_code == 2
    assert caught.value.message == f"Invalid condition `{word.rpartition(',')[2]}'"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("fn:f<int, char>::g,malloc", ["fn:f<int, char>::g", "malloc"]),
        ("fn:a<b, c<d, e> >,user:x<y,fn:z", ["fn:a<b, c<d, e> >", "user:x<y", "fn:z"]),
        ("fn:f<&A::operator->, 3>,range", ["fn:f<&A::operator->, 3>", "range"]),
        ("fn:q<void (int, char)>", ["fn:q<void (int, char)>"]),
        ("fn:operator<,fn:operator<<,malloc", ["fn:operator<", "fn:operator<<", "malloc"]),
    ],
)
def test_commas_in_names_of_functions(text, words):
    assert [str(c) for c in conditions.parse(text, ranges=True)] == words
    with pytest.raises(conditions.ConditionError):
        conditions.parse("fn:a<b,c", ranges=True)


def test_words():
    words = "fn:main,file:/a b.c,dso:/lib/x.so,user:my: label,malloc,range"
    assert [str(c) for c in conditions.parse(words, ranges=True)] == words.split(",")


@pytest.mark.parametrize(
    ("name", "bare"),
    [
        ("main", "main"),
        ("f(int, char (*)(int))", "f"),
        ("ns::Box<int>::get(int) const", "ns::Box<int>::get"),
        ("operator()(int)", "operator()"),
        ("(anonymous namespace)::f()", "(anonymous namespace)::f"),
        ("Box::operator()", "Box::operator()"),
    ],
)
def test_names_without_parameters(name, bare):
    assert without_parameters(name) == bare


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, dict[str, int]]:
    folder = tmp_path_factory.mktemp("guest")
    executable, symbols = build_guest(folder)
    return folder / "trace", executable, write_program(folder / "trace", executable, symbols)


def test_conditions_by_symbols(program):
    path, executable, places = program
    index = Index.open(str(path))
    symbols = Symbols(index.trace)
    ips = index.trace.ips()

    def shown(events: str, ranges: str = "") -> set[str]:
        by_event = conditions.parse(events, ranges=False) if events else []
        by_range = conditions.parse(ranges, ranges=True) if ranges else []
        trace = datagrind.Trace(path, filter=conditions.filter_of(by_event, by_range, ips, symbols))
        found = [row for chunk in trace.chunks() for row in rows(chunk)]
        assert len(found) % 32 == 0
        regions = {"table": 0, "heap": 0, "stack": -256}
        return {
            name
            for _, address, *_ in found
            for name, at in regions.items()
            if 0 <= address - places[name] - at <= 256
        }

    source = next(level.path for level in symbols.levels(places["leaf"]))
    assert source is not None and source.endswith("/symbols.c")
    everything = {"table", "heap", "stack"}
    assert shown("") == everything
    assert shown("fn:leaf") == {"table", "heap"}
    assert shown("fn:middle") == {"table", "heap"}
    assert shown("fn:main") == everything
    assert shown("fn:nothing") == set()
    assert shown(f"dso:{executable}") == everything
    assert shown(f"dso:{executable.name}") == set()
    assert shown(f"file:{source}") == everything
    assert shown("file:symbols.c") == set()
    assert shown("user:phase") == {"stack"}
    assert shown("user:phase,fn:leaf") == everything
    assert shown("", "malloc") == {"heap"}
    assert shown("", "range") == {"table"}
    assert shown("", "user:table") == {"table"}
    assert shown("", "user:phase") == set()
    assert shown("", "fn:middle") == {"heap"}
    assert shown("", "fn:leaf") == set()
    assert shown("", f"dso:{executable},user:table") == {"heap", "table"}
    assert shown("", f"file:{source}") == {"heap"}
    assert shown("fn:leaf", "malloc") == {"heap"}
    assert shown("user:phase", "malloc") == set()


def test_symbols_of_objects_that_are_not_there(tmp_path):
    with open(tmp_path / "f", "wb") as stream:
        w = datagrind.Writer(stream)
        w.text_avma(0x5000, "/not/there.so")
        w.text_avma(0x9000, str(tmp_path))
        w.text_avma(0xB000, str(tmp_path / "f"))
    trace = datagrind.Trace(tmp_path / "f")
    for _ in trace.chunks():
        pass
    symbols = Symbols(trace)
    assert [level.object for level in symbols.levels(0x5010)] == ["/not/there.so"]
    assert [level.object for level in symbols.levels(0x9010)] == [str(tmp_path)]
    assert [level.object for level in symbols.levels(0x4000)] == [None]
    assert symbols.levels(0x5010)[0].place() == "0x5010 (in /not/there.so)"
