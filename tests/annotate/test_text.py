"""interpose-annotate's text beside that of the installed callgrind_annotate, and what only ours does."""

from __future__ import annotations

import contextlib
import io
import os
import pty
import re
import shutil
import subprocess
import sys

import pytest

from interpose.annotate.cli import main
from interpose.errors import InterposeError


def run(*words: str) -> tuple[int, str]:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        code = main([str(word) for word in words])
    return code, out.getvalue()


def ours(*words: str) -> str:
    code, text = run(*words)
    assert code == 0
    return text


def theirs(*words: str) -> str:
    if not shutil.which("callgrind_annotate"):
        pytest.skip("callgrind_annotate is not installed")
    command = ["callgrind_annotate", *map(str, words)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def squeezed(text: str) -> list[str]:
    """Lines without the widths of columns."""
    return [re.sub(r" +", " ", line).strip() for line in text.splitlines()]


@pytest.mark.parametrize("profile", ["plain.out", "full.out", "callers.out", "cachegrind.out"])
@pytest.mark.parametrize(
    "options",
    [
        [],
        ["--threshold=100"],
        ["--threshold=50"],
        ["--threshold=0"],
        ["--show-percs=no"],
        ["--inclusive=yes"],
        ["--inclusive=yes", "--threshold=90", "--show-percs=no"],
    ],
    ids=" ".join,
)
def test_lists_of_functions_are_theirs_byte_by_byte(profiled, profile, options):
    words = ["--auto=no", *options, profiled / profile]
    assert ours(*words) == theirs(*words)


@pytest.mark.parametrize(
    "options",
    [
        ["--show=Dr,Ir"],
        ["--sort=Dr"],
        ["--sort=Dr:50,Ir:80"],
        ["--sort=Bcm:90", "--show=Bcm,Ir"],
        ["--sort=Ir,Dw", "--threshold=75"],
    ],
    ids=" ".join,
)
def test_events_are_shown_and_sorted_as_asked(profiled, options):
    words = ["--auto=no", *options, profiled / "full.out"]
    assert ours(*words) == theirs(*words)


@pytest.mark.parametrize("options", [["--threshold=100", "--sort=Bim"], ["--sort=Bim:100"]], ids=" ".join)
def test_all_functions_also_those_that_cost_nothing(profiled, options):
    """A threshold of 100 is all of them; one of an event ends with its last cost."""
    words = ["--auto=no", *options, profiled / "full.out"]
    assert sorted(ours(*words).splitlines()) == sorted(theirs(*words).splitlines())


@pytest.mark.parametrize("tree", ["caller", "calling", "both"])
def test_trees_have_their_lines(profiled, tree):
    """Theirs are not aligned, calls of the same cost come in no order, and both put blank lines between."""
    words = ["--auto=no", f"--tree={tree}", "--threshold=100", profiled / "plain.out"]
    assert sorted(squeezed(ours(*words))) == sorted(squeezed(theirs(*words)))


@pytest.mark.parametrize("context", [0, 1, 2, 8, 100])
def test_sources_are_annotated_as_theirs(profiled, context):
    words = [f"--context={context}", profiled / "plain.out"]
    # Of two functions that call the same one from one line, theirs shows one call.
    mine, other = (
        sorted(line for line in squeezed(text) if "'2 (" not in line)
        for text in (ours(*words), theirs(*words))
    )
    assert mine == other
    assert "-- Auto-annotated source:" in "\n".join(mine) and "events annotated" in "\n".join(mine)


HAND = """\
# callgrind format
version: 1
creator: hand
pid: 5
thread: 3
cmd:  ./x -a
desc: Trigger: nothing
event: Sum = A + 10 B : All
events: A B
ob=o1
fl=f1.c
fn=main
0 1
1 20
cob=o9
cfi=q.c
cfn=q
calls=1 50
2 30000
2 0 3
10 9
fn=main'2
1 3
cfn=main'2
calls=5 1
1 400
"""


@pytest.fixture
def hand(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "f1.c").write_text("one\n\ttwo\nthree\n")
    os.utime(tmp_path / "src" / "f1.c", (1, 1))
    (tmp_path / "hand.out").write_text(HAND)
    return tmp_path


def test_the_whole_text(hand):
    text = ours("-I", "src", "--context=1", "hand.out")
    assert "\n".join(line.rstrip() for line in text.splitlines()) == """\
--------------------------------------------------------------------------------
Profile data file 'hand.out' (creator: hand)
--------------------------------------------------------------------------------
Trigger: nothing
Profiled target:  ./x -a (PID 5, thread 3)
Events recorded:  A B
Events shown:     A B
Event sort order: A B
Thresholds:       99 0
Include dirs:     src/
User annotated:
Auto-annotation:  on

--------------------------------------------------------------------------------
A           B
--------------------------------------------------------------------------------
33 (100.0%) 3 (100.0%)  PROGRAM TOTALS (calculated)

--------------------------------------------------------------------------------
A           B           file:function
--------------------------------------------------------------------------------
30 (90.91%) 3 (100.0%)  f1.c:main [o1]
 3 ( 9.09%) .           f1.c:main'2 [o1]

--------------------------------------------------------------------------------
-- Auto-annotated source: src/ + f1.c
--------------------------------------------------------------------------------
A               B

    23 (69.70%) .           one
   400 (1212.1%) .           => f1.c:main'2 (5x)
     0          3 (100.0%)  \ttwo
30,000 (90909.1%) .           => q.c:q (1x)
     .          .           three
-- line 3 ----------------------------------------
     9 (27.27%) .           <bogus line 10>

@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@ WARNING @@
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@
@@
@@ Information recorded about lines past the end of 'f1.c'.
@@
@@ Probable cause and solution:
@@ cause:    not sure, sorry
@@
@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@

     1 ( 3.03%) .           <counts for unidentified lines in f1.c>

--------------------------------------------------------------------------------
A           B
--------------------------------------------------------------------------------
23 (69.70%) 3 (100.0%)  events annotated
"""  # fmt: skip


def test_derived_events_are_columns_where_they_are_asked_for(hand):
    text = ours("--auto=no", "--show=Sum,B", "--sort=Sum", "hand.out")
    assert (
        "60 (95.24%) 3 (100.0%)  f1.c:main [o1]" in text and "63 (100.0%) 3 (100.0%)  PROGRAM TOTALS" in text
    )
    assert "Sum" not in ours("--auto=no", "hand.out")


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("--tree=up", "--tree=up: one of none, caller, calling, both is needed"),
        ("--threshold=101", "--threshold=101: a percentage from 0 to 100 is needed"),
        ("--sort=A:x", "a percentage from 0 to 100"),
        ("--context=-1", "a number of lines"),
        ("--frobnicate", "unknown option"),
        ("--frobnicate=1", "unknown option"),
        ("--show=C", "--show event 'C' did not appear in input"),
        ("--sort=A,C", "--sort event 'C' did not appear in input"),
        ("--diff", "--diff compares two profiles; 1 given"),
        ("-I", "-I needs a directory"),
    ],
)
def test_bad_command_lines(hand, word, said):
    with pytest.raises(InterposeError, match=re.escape(said)):
        run("hand.out", word)


def test_a_source_file_that_is_not_there(hand):
    with pytest.raises(InterposeError, match=r"File no\.c not found in any of:  src/"):
        run("--include=src", "hand.out", "no.c")


def test_the_first_profile_of_the_folder_is_found(hand):
    with pytest.raises(InterposeError, match=r"no callgrind.out\* is here"):
        run()
    (hand / "callgrind.out.5").write_text(HAND)
    (hand / "callgrind.out.12").write_text(HAND)
    assert ours("--auto=no").startswith("Reading data from 'callgrind.out.12'...\n-----")


def test_several_profiles_are_added(hand):
    (hand / "other.out").write_text(HAND.replace("events: A B", "events: B C").replace("o1", "o1"))
    text = ours("--auto=no", "--tree=calling", "hand.out", "other.out")
    assert "Events recorded:  A B C" in text
    # B has what the other file counted first, C what it counted second.
    assert "30 (90.91%) 33 (91.67%) 3 (100.0%)" in re.sub(r" +", " ", text)
    assert "q.c:q (2x)" in text


def test_profiles_are_compared(hand):
    (hand / "new.out").write_text(
        HAND.replace("1 20", "1 25").replace("1 3\n", "1 1\n").replace("ob=o1", "ob=/x/o1")
    )
    lines = squeezed(ours("--auto=no", "--diff", "--tree=calling", "hand.out", "new.out"))
    assert "OLD TOTALS: A 33 B 3" in lines and "NEW TOTALS: A 36 B 3" in lines
    assert "+3 ( +9.09%) 0 DIFFERENCE (calculated)" in lines
    assert "+5 (+15.15%) 0 * f1.c:main [/x/o1]" in lines and "-2 ( -6.06%) . * f1.c:main'2 [/x/o1]" in lines


def test_what_can_be_read_of_a_broken_file_is_shown(hand, capfd):
    (hand / "broken.out").write_text(HAND + "rubbish\n")
    code, text = run("--auto=no", "broken.out")
    assert code == 1 and "30 (90.91%)" in text
    assert "WARNING: the profile is incomplete; shown is what could be read: broken.out:27: 'rubbish'" in text
    assert "interpose: broken.out:27: 'rubbish' is neither" in capfd.readouterr().err
    with pytest.raises(InterposeError, match="No such file"):
        run("absent.out")


def test_names_give_no_orders_to_a_terminal(hand):
    (hand / "evil.out").write_text(HAND.replace("main", "\x1b]0;owned\x07\x9b31m\u202e"))
    text = ours("evil.out")
    assert r"\x1b]0;owned\x07\x9b31m\u{202e}" in text and text.replace("\n", "").isprintable()


def test_names_that_are_no_utf8_are_shown(hand):
    (hand / "bytes.out").write_bytes(HAND.encode().replace(b"main", b"m\xffn"))
    assert r"f1.c:m\xffn [o1]" in ours("--auto=no", "bytes.out")


def test_sources_are_regular_files_only(hand):
    os.mkfifo(hand / "fifo.c")
    for name in ("/dev/zero", "fifo.c", "src", "f\0.c", "/proc/self/mem"):
        (hand / "odd.out").write_text(HAND.replace("f1.c", name))
        assert "could not be found" in ours("odd.out")


def test_colour_is_for_terminals(hand):
    assert "\x1b" not in ours("hand.out")
    assert "\x1b[1;31m" in ours("--colour=always", "hand.out")
    environ = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    for extra, coloured in (({}, True), ({"NO_COLOR": "1"}, False)):
        leader, follower = pty.openpty()
        command = [sys.executable, "-m", "interpose.annotate", "--auto=no", "hand.out"]
        subprocess.run(command, stdout=follower, check=True, env=environ | extra)
        os.close(follower)
        assert (b"\x1b[" in os.read(leader, 1 << 16)) is coloured
        os.close(leader)


def test_counts_of_2_to_the_60_and_totals_of_zero(hand):
    n = 2**60
    (hand / "huge.out").write_text(f"events: A\nfn=f\n1 {n}\n1 {n}\ntotals: 0\n")
    assert f"{2 * n:,} (100.0%)  PROGRAM TOTALS (calculated)" in ours("huge.out")


def test_deep_calls_take_no_stack(hand):
    depth = 30_000
    calls = "".join(f"fn=f{i}\n1 1\ncfn=f{i + 1}\ncalls=1 1\n1 {depth - i}\n" for i in range(depth))
    (hand / "deep.out").write_text(f"events: A\n{calls}fn=f{depth}\n1 1\n")
    assert f"f{depth - 1}" in ours("--tree=both", "--inclusive=yes", "--threshold=100", "deep.out")
