"""Whatever a file holds, each output is made, or the file is refused in one line."""

from __future__ import annotations

import contextlib
import io
import json
import tempfile
import xml.etree.ElementTree as ElementTree
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.annotate.cli import main
from interpose.errors import InterposeError

NAMES = st.sampled_from(
    ["f", "g", "main", "???", "", "(1)", "</script><img>", "\x1b[31m", "\udcff", "f'2", "a;b", "/dev/zero"]
)
COUNTS = st.sampled_from([0, 1, 7, 2**60, 2**64 - 1])
PLACES = st.sampled_from(["0", "1", "+3", "*", "0x10", "18446744073709551615"])
COSTS = st.lists(COUNTS, max_size=2).map(lambda counts: " ".join(map(str, counts)))
LINES = st.one_of(
    st.builds("{}={}".format, st.sampled_from(["ob", "fl", "fi", "fe", "fn", "cob", "cfi"]), NAMES),
    st.builds("{} {}".format, PLACES, COSTS),
    st.builds("cfn={}\ncalls={} {}\n{} {}".format, NAMES, COUNTS, PLACES, PLACES, COSTS),
    st.builds("jcnd={}/{} {}\n{}".format, COUNTS, COUNTS, PLACES, PLACES),
    st.builds("jump={} {}\n{}".format, COUNTS, PLACES, PLACES),
    st.builds("totals: {}".format, COSTS),
    st.builds("summary: {}".format, COSTS),
    st.builds("part: {}".format, COUNTS),
    st.builds("desc: {}: {}".format, NAMES, NAMES),
    st.just("events: Dr Ir"),
    st.just("rubbish"),
)
HEAD = """\
cmd: x
positions: {}
event: Sum = 18446744073709551615 Ir + 2 Sum2
event: Sum2 = 9 Dr
events: Ir Dr
fn=f
"""
FILES = st.builds(
    lambda positions, lines: HEAD.format(positions) + "\n".join(lines) + "\n",
    st.sampled_from(["line", "instr"]),
    st.lists(LINES, max_size=25),
)
COMMANDS = [
    ["--tree=both", "--threshold=100"],
    ["--inclusive=yes", "--sort=Dr,Ir", "--show-percs=no"],
    ["--show=Sum2", "--sort=Sum,Sum2", "--auto=no"],
]


@settings(max_examples=80)
@given(FILES, FILES)
def test_every_output(first, second):
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        old, new, out = folder / "old", folder / "new", folder / "out"
        old.write_text(first, errors="surrogateescape")
        new.write_text(second, errors="surrogateescape")
        commands = [[*words, str(old)] for words in COMMANDS]
        commands += [
            ["--diff", str(old), str(new)],
            [str(old), str(new)],
            ["--html", str(out), str(old), str(new)],
        ]
        kinds = ("flamegraph", "speedscope", "pprof", "perfetto")
        commands += [[f"--export={kind}", str(out), str(old)] for kind in kinds]
        for words in commands:
            out.unlink(missing_ok=True)
            text = io.StringIO()
            try:
                with contextlib.redirect_stdout(text):
                    assert main(words) in (0, 1)
            except InterposeError as error:
                assert len(error.text()) < 1000
                continue
            assert "\x1b" not in text.getvalue()
            if "flamegraph" in words[0]:
                ElementTree.fromstring(out.read_bytes())
            elif "speedscope" in words[0] or "perfetto" in words[0]:
                json.loads(out.read_bytes())
            elif words[0] == "--html":
                assert out.read_bytes().count(b"<img") == 0
