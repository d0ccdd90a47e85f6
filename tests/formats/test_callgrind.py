"""Callgrind's format: what is read from each construct, what is written, and bad files."""

from __future__ import annotations

import io
import shutil
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.formats import FormatError
from interpose.formats.callgrind import (
    Call,
    Cost,
    EventType,
    Function,
    Jump,
    Part,
    Profile,
    Reader,
    Writer,
    read,
    write,
)
from interpose.formats.callgrind.limits import MAX_LINE


def parse(text: str | bytes) -> Profile:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return read(io.BytesIO(data), "file")


def records(text: str) -> list[object]:
    return [record for part in parse(text).parts for record in part.records]


def refused(text: str | bytes) -> FormatError:
    with pytest.raises(FormatError) as caught:
        parse(text)
    return caught.value


EXTENDED = """\
# callgrind format
events: Instructions

fl=file1.c
fn=main
16 20
cfn=func1
calls=1 50
16 400
cfi=file2.c
cfn=func2
calls=3 20
16 400

fn=func1
51 100
cfi=file2.c
cfn=func2
calls=2 20
51 300

fl=file2.c
fn=func2
20 700
"""
MAIN, FUNC1 = Function("", "file1.c", "main"), Function("", "file1.c", "func1")
FUNC2 = Function("", "file2.c", "func2")
EXTENDED_RECORDS = [
    Cost(MAIN, "file1.c", 0, 16, (20,)),
    Call(MAIN, "file1.c", 0, 16, FUNC1, 1, 0, 50, (400,)),
    Call(MAIN, "file1.c", 0, 16, FUNC2, 3, 0, 20, (400,)),
    Cost(FUNC1, "file1.c", 0, 51, (100,)),
    Call(FUNC1, "file1.c", 0, 51, FUNC2, 2, 0, 20, (300,)),
    Cost(FUNC2, "file2.c", 0, 20, (700,)),
]


def test_calls_name_functions_of_this_file_and_of_others():
    assert records(EXTENDED) == EXTENDED_RECORDS


def test_ids_stand_for_names_wherever_they_were_defined():
    compressed = """\
events: Instructions
# definitions alone change nothing
fl=(1) file1.c
fl=(2) file2.c
fn=(1) main
fn=(2) func1
fn=(3) func2
fl=(1)
fn=(1)
16 20
cfn=(2)
calls=1 50
16 400
cfl=(2)
cfn=(3)
calls=3 20
16 400
fn=(2)
51 100
cfi=(2)
cfn=(3)
calls=2 20
51 300
fl=(2)
fn=(3)
20 700
"""
    assert records(compressed) == EXTENDED_RECORDS


def test_relative_positions_follow_the_last_cost_line():
    text = """\
positions: instr line
events: ticks
fn=func
0x80001234 90 1
+3 * 5
+1 +1 6
cfn=g
calls=2 +16 -1
-4 * 7
* 0x5b 8
"""
    found = [(record.addr, record.line, record.costs) for record in records(text)]
    base = 0x80001234
    expected = [(base, 90, (1,)), (base + 3, 90, (5,)), (base + 4, 91, (6,))]
    assert found == [*expected, (base, 91, (7,)), (base, 91, (8,))]
    call = records(text)[3]
    assert (call.target_addr, call.target_line) == (base + 20, 90)


def test_inlined_code_keeps_its_function():
    text = "events: A B\nob=o\nfl=f.c\nfn=f\n1 2 3\nfi=h.h\n9 4\ncfn=g\ncalls=1 5\n9 6\nfe=f.c\n2 0 7\n"
    function = Function("o", "f.c", "f")
    assert records(text) == [
        Cost(function, "f.c", 0, 1, (2, 3)),
        Cost(function, "h.h", 0, 9, (4,)),
        Call(function, "h.h", 0, 9, Function("o", "h.h", "g"), 1, 0, 5, (6,)),
        Cost(function, "f.c", 0, 2, (0, 7)),
    ]


def test_jumps():
    text = """\
positions: instr line
events: Ir
fl=f.c
fn=f
0x10 4 3
jump=3 +5 +1
* *
jfi=g.c
jcnd=1/3 0x40 9
* *
jfi=g.c
jfn=g
jcnd=0 3 0x50 9
* *
"""
    f = Function("", "f.c", "f")
    assert records(text)[1:] == [
        Jump(f, "f.c", 16, 4, 3, None, f, "f.c", 21, 5),
        Jump(f, "f.c", 16, 4, 3, 1, f, "g.c", 64, 9),
        Jump(f, "f.c", 16, 4, 3, 0, Function("", "g.c", "g"), "g.c", 80, 9),
    ]


def test_headers_of_several_parts():
    text = """\
# callgrind format
version: 1
creator: callgrind-3.19.0
pid: 9353
cmd:  ./rec -x
part: 1
thread: 7

desc: I1 cache: 32768 B
desc: Trigger: --dump-every-bb=20000
weather: fine
positions: line
event: Ir : Instructions
event: Sum = Ir + 10 * Dr + 0x3 Dw : All
events: Ir Dr Dw
summary: 5

fn=(1) a
1 5
totals: 5

part: 2
desc: Trigger: Program termination
fn=(1)
2 6 1
totals: 6 1
"""
    first, second = parse(text).parts
    assert (first.version, first.creator, first.pid, first.cmd) == (1, "callgrind-3.19.0", 9353, "./rec -x")
    assert (first.part, first.thread, first.summary, first.totals) == (1, 7, (5,), (5,))
    assert first.description("Trigger") == "--dump-every-bb=20000" and first.other == [("weather", "fine")]
    assert first.event_types["Ir"] == EventType("Ir", "Instructions")
    assert first.event_types["Sum"] == EventType("Sum", "All", ((1, "Ir"), (10, "Dr"), (3, "Dw")))
    assert (second.pid, second.part, second.thread, second.events) == (9353, 2, None, first.events)
    assert second.records == [Cost(Function("", "", "a"), "", 0, 2, (6, 1))] and second.totals == (6, 1)


def test_cachegrinds_files_are_a_subset():
    part = parse(
        "desc: I1 cache:         1 B\ncmd: x\nevents: Ir I1mr\nfl=a.c\nfn=f\n3 4 5\nsummary: 4 5\n"
    ).parts[0]
    assert part.descriptions == [("I1 cache", "        1 B")]
    assert part.summary == (4, 5) and part.records == [Cost(Function("", "a.c", "f"), "a.c", 0, 3, (4, 5))]


def test_a_stream_gives_each_part_before_its_records():
    kinds = [type(record) for record in Reader(io.BytesIO(EXTENDED.encode()))]
    assert kinds == [Part, Cost, Call, Call, Cost, Call, Cost]


NAMES = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=8).map(
    lambda text: text.lstrip(" \t")
) | st.sampled_from(["(1) x", "(2)", "f'2", "???", "\udc80\udcff", "a", "b"])
NUMBERS = st.integers(0, 40) | st.integers(0, 2**64 - 1)
WORDS = st.from_regex(r"[A-Za-z][A-Za-z0-9]{0,4}", fullmatch=True)
LINE = st.text(st.characters(exclude_characters="\n\r", exclude_categories=("Cs",)), max_size=9).map(
    str.strip
)


@st.composite
def profiles(draw: st.DrawFn) -> Profile:
    files = draw(st.lists(NAMES, min_size=1, max_size=3))
    functions = [Function(*draw(st.tuples(NAMES, st.sampled_from(files), NAMES))) for _ in range(3)]
    function, file = st.sampled_from(functions), st.sampled_from(files)
    creator, parts = (
        draw(st.none() | LINE.filter(lambda text: not text.startswith(("callgrind", "interp")))),
        [],
    )
    for _ in range(draw(st.integers(1, 3))):
        positions = draw(st.sampled_from([("line",), ("instr",), ("instr", "line")]))
        events = tuple(draw(st.lists(WORDS, min_size=1, max_size=4)))
        addr = NUMBERS if "instr" in positions else st.just(0)
        line = NUMBERS if "line" in positions else st.just(0)
        sums = st.lists(NUMBERS, max_size=len(events)).map(tuple)
        costs = sums
        place = (function, file, addr, line)
        record = (
            st.builds(Cost, *place, costs)
            | st.builds(Call, *place, function, NUMBERS, addr, line, costs)
            | st.builds(
                lambda f, a, b, c, n, followed, to, at, ta, tl: Jump(
                    f, a, b, c, n, followed, to or f, to.file if to and to != f else at, ta, tl
                ),
                *place, NUMBERS, st.none() | NUMBERS, st.none() | function, file, addr, line,
            )
        )  # fmt: skip
        names = draw(st.lists(WORDS, unique=True, max_size=2))
        formula = st.lists(st.tuples(st.integers(0, 99), WORDS), max_size=3).map(tuple)
        types = {name: EventType(name, draw(st.none() | LINE), draw(formula)) for name in names}
        before = parts[-1] if parts else Part()
        parts.append(
            Part(
                events, positions, 1, creator,
                draw(st.integers(0, 99)), draw(LINE), draw(st.none() | NUMBERS), draw(st.none() | NUMBERS),
                draw(st.lists(st.tuples(WORDS, LINE), max_size=2)), {**before.event_types, **types},
                draw(st.lists(st.tuples(st.just("weather"), LINE), max_size=1)),
                draw(st.none() | sums), draw(sums), draw(st.lists(record, max_size=9)),
            )
        )  # fmt: skip
    return Profile(parts)


@settings(max_examples=150)
@given(profiles(), st.booleans(), st.booleans())
def test_what_is_written_is_read(profile, compress_strings, compress_pos):
    stream = io.BytesIO()
    write(profile, stream, compress_strings=compress_strings, compress_pos=compress_pos)
    assert parse(stream.getvalue()) == profile


def test_a_profilers_file_word_by_word():
    stream = io.BytesIO()
    writer = Writer(stream, ["Ir", "Dr"], ["instr", "line"], creator="test-1")
    writer.part_header(
        pid=7, cmd="prog", part=1, descriptions=[("Trigger", "Program termination")],
        event_types=[EventType("Sum", "All", ((1, "Ir"), (2, "Dr")))], summary=[9, 1],
    )  # fmt: skip
    writer.function("/bin/p", "p.c", "main")
    writer.cost(10, 0x1000, [1, 0])
    writer.inline_file("p.h")
    writer.cost(3, 0x1004, [2])
    writer.call(
        "/lib/c", "c.c", "puts\nx", 2, target_line=5, target_addr=0x40, line=3, addr=0x1006, costs=[6, 1]
    )
    writer.inline_file("p.c")
    writer.jump(3, 1, target_line=9, target_addr=0x1000, line=10, addr=0x1009)
    writer.function("/bin/p", "p.c", "(1)")
    writer.cost(8, 0x2000)
    writer.totals([9, 1])
    assert stream.getvalue().decode() == (
        "# callgrind format\nversion: 1\ncreator: test-1\npid: 7\ncmd:  prog\npart: 1\n\n"
        "desc: Trigger: Program termination\n\n"
        "positions: instr line\nevent: Sum = Ir + 2 Dr : All\nevents: Ir Dr\nsummary: 9 1\n\n\n"
        "ob=(1) /bin/p\nfl=(1) p.c\nfn=(1) main\n0x1000 10 1\nfi=(2) p.h\n+4 -7 2\n"
        "cob=(2) /lib/c\ncfi=(3) c.c\ncfn=(2) puts\\nx\ncalls=2 -4036 +2 \n+2 * 6 1\n"
        "fe=(1)\njcnd=1/3 -6 +6 \n+3 +7 \n"
        "\nfn=(3) (1)\n0x2000 8 \n\ntotals: 9 1\n"
    )


def test_each_part_says_the_names_of_its_ids():
    """KCachegrind forgets them between parts."""
    stream = io.BytesIO()
    writer = Writer(stream, ["Ir"])
    for _ in range(2):
        writer.part_header()
        writer.function("o", "a.c", "f")
        writer.cost(1, 0, [1])
        writer.function("o", "b.c", "g")
        writer.cost(1, 0, [1])
        writer.function("o", "a.c", "f")
        writer.totals([2])
    body = "ob=(1) o\nfl=(1) a.c\nfn=(1) f\n1 1\n\nfl=(2) b.c\nfn=(2) g\n1 1\n\nfl=(1)\nfn=(1)\n\ntotals: 2\n"
    assert stream.getvalue().decode().count(body) == 2


def test_a_writer_refuses_what_no_reader_would_take():
    with pytest.raises(ValueError):
        Writer(io.BytesIO(), [])
    with pytest.raises(ValueError):
        Writer(io.BytesIO(), ["Ir"], ["line", "instr"])
    writer = Writer(io.BytesIO(), ["Ir"])
    with pytest.raises(ValueError):
        writer.cost(1, 0, [1, 2])
    with pytest.raises(ValueError):
        writer.cost(-1, 0, [1])


BAD = {
    "empty": (b"", 0, "this is no callgrind profile"),
    "binary": (b"\x7fELF\x02\x01\n\n", 1, "neither a header line, a position nor costs"),
    "no events": (b"positions: line\nfn=f\n1 2\n", 2, "no events: line"),
    "no header": (b"fn=f\n", 1, "no events: line"),
    "bad positions": (b"positions: line instr\n", 1, "'line', 'instr' or 'instr line'"),
    "version": (b"version: 2\n", 1, "the file has version 2; version 1 is read"),
    "number": (b"pid: x\n", 1, "'x' is no number"),
    "underscore": (b"events: A\n1 1_0\n", 2, "'1_0' is no number"),
    "sign": (b"events: A\n1 +5\n", 2, "'+5' is no number"),
    "too many costs": (b"events: A\n1 2 3\n", 2, "3 numbers; 1 for the position and up to 1 costs (A)"),
    "no position": (b"events: A\npositions: instr line\n1\n", 3, "1 numbers; 2 for the position"),
    "65 bits": (b"events: A\n1 18446744073709551616\n", 2, "does not fit 64 bits"),
    "digits": (b"events: A\n1 " + b"9" * 9999 + b"\n", 2, "is no number"),
    "below 0": (b"events: A\n5 1\n-6 1\n", 3, "the position -6 from 5 is out of range"),
    "above": (b"events: A\n0xffffffffffffffff 1\n+1 1\n", 3, "out of range"),
    "unknown id": (b"events: A\nfn=(3)\n", 2, "(3) is the id of no function so far"),
    "kinds of ids": (b"events: A\nfl=(3) f\nob=(3)\n", 3, "(3) is the id of no object so far"),
    "calls alone": (b"events: A\nfn=f\ncfn=g\ncalls=1 2\nfn=g\n", 5, "calls= must be followed by"),
    "calls at the end": (b"events: A\ncfn=g\ncalls=1 2\n", 3, "the file ends after calls="),
    "calls of nothing": (b"events: A\ncalls=1 2\n", 2, "calls= without cfn="),
    "calls without count": (b"events: A\ncfn=g\ncalls=\n", 3, "a count and a position"),
    "target": (b"events: A\ncfn=g\ncalls=1\n", 3, "0 target positions; 'line' is declared"),
    "jcnd": (b"events: A\njcnd=1 2\n", 2, "jcnd= must give"),
    "events": (b"events: " + b"A " * 300 + b"\n", 1, "there are 300 events; 256 are the most"),
    "event": (b"event: 5 = A\n", 1, "'5' is no name of an event"),
    "formula": (b"event: S = A + * B\n", 1, "'* B' is no term of a formula"),
    "long line": (b"events: A\nfn=" + b"x" * (MAX_LINE + 300_000), 2, "longer than 1048576 bytes"),
    "cut off": (b"creator: callgrind-3.19.0\nevents: A\nfn=f\n1 2\n", 4, "ends each part with a totals:"),
    "cut off part": (b"creator: interpose-1\nevents: A\n1 2\npart: 2\n1 2\ntotals: 2\n", 4, "cut off"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_files(name):
    data, line, reason = BAD[name]
    error = refused(data)
    assert reason in error.reason and error.line == line
    assert error.message == f"file:{line}: {error.reason}" and len(error.message) < 300
    assert error.message.isprintable()


def test_what_was_read_so_far_is_kept():
    partial = refused(EXTENDED + "rubbish\n").partial
    assert isinstance(partial, Profile) and partial.parts[0].records == EXTENDED_RECORDS


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(FormatError) as caught:
        read(tmp_path / "none")
    assert caught.value.message == f"{tmp_path / 'none'}: No such file or directory"


@settings(max_examples=100)
@given(st.data())
def test_no_corruption_ends_in_anything_but_a_format_error(data):
    stream = io.BytesIO()
    write(data.draw(profiles()), stream)
    content = bytearray(stream.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(content)))
        piece = st.binary(max_size=4) | st.sampled_from(
            [b"\n", b"calls=1 1", b"(9", b"fn=(1)\n", b"-", b"*", b"part: 1\n"]
        )
        content[at : at + data.draw(st.integers(0, 8))] = data.draw(piece)
    try:
        profile = parse(bytes(content))
    except FormatError as error:
        profile = error.partial
    assert isinstance(profile, Profile)


HOSTILE = {
    "an id a line": b"".join(b"fn=(%d) f\n" % (i << 44) for i in range(20_000)),
    "deep calls": b"".join(b"cfn=(%d) f%d\ncalls=1 1\n1 1\nfn=(%d)\n" % (i, i, i) for i in range(20_000)),
    "blanks in a line": b"1" + b" " * 900_000 + b"2\n",
    "blanks in a header": b"event: S = 5" + b" " * 900_000 + b"*\n",
    "blanks in jcnd": b"jcnd=1" + b" " * 900_000 + b"x\n",
    "words in a line": b"1 " * 400_000 + b"\n",
    "short costs of many events": b"totals: 1\npart: 2\nevents: " + b"A " * 256 + b"\n" + b"1\n" * 20_000,
    "parts": b"totals: 1\npart: 2\n1 1\n" * 20_000,
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_take_time_by_their_length(name):
    before = time.process_time()
    try:
        parse(b"events: A\nfn=x\n1 1\n" + HOSTILE[name])
    except FormatError as error:
        assert len(error.message) < 300
    # Linear takes a fraction of a second, quadratic minutes.
    assert time.process_time() - before < 20


def test_counts_of_2_to_the_60_add_up():
    n = 2**60
    found = records(f"events: A\nfn=f\n1 {n}\ncfn=g\ncalls={n} 2\n1 {n}\n")
    assert found[0].costs == (n,) and found[1].calls == n


# -- Files of the real thing --

PROGRAM = Path(__file__).parents[1] / "guests" / "formats" / "profiled.c"
OPTIONS = {
    "plain": [],
    "everything": "--dump-instr=yes --collect-jumps=yes --cache-sim=yes --branch-sim=yes --collect-bus=yes "
    "--collect-systime=nsec --separate-callers=3 --separate-recs=3".split(),
    "uncompressed": "--compress-strings=no --compress-pos=no --dump-instr=yes --dump-line=no "
    "--collect-jumps=yes".split(),
    "parts": "--combine-dumps=yes --separate-threads=yes --dump-every-bb=20000".split(),
}  # fmt: skip


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    built = tmp_path_factory.mktemp("profiled") / "profiled"
    subprocess.run(["gcc", "-g", "-O1", "-static", "-pthread", PROGRAM, "-o", built], check=True)
    return built


@pytest.mark.parametrize("name", OPTIONS)
def test_valgrinds_files(program, tmp_path, name):
    out = tmp_path / "callgrind.out"
    command = ["valgrind", "-q", "--tool=callgrind", f"--callgrind-out-file={out}", *OPTIONS[name], program]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path)
    profile = read(out)
    kinds = {type(record) for part in profile.parts for record in part.records}
    assert kinds == ({Cost, Call, Jump} if "--collect-jumps=yes" in OPTIONS[name] else {Cost, Call})
    assert len(profile.parts) > 1 or name != "parts"
    for part in profile.parts:
        sums = [0] * len(part.events)
        for record in part.records:
            if isinstance(record, Cost):
                for index, cost in enumerate(record.costs):
                    sums[index] += cost
        assert part.totals == tuple(sums)
    for compress in (True, False):
        stream = io.BytesIO()
        write(profile, stream, compress_strings=compress, compress_pos=compress)
        assert parse(stream.getvalue()) == profile
