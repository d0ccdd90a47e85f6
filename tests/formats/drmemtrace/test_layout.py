"""The files of a trace, from any of the places that a user may name."""

from __future__ import annotations

import os

import pytest

from interpose.formats.drmemtrace.errors import FormatError
from interpose.formats.drmemtrace.layout import auxiliary_file, trace_files

IGNORED = (
    "serial_schedule.bin",
    "serial_schedule.bin.gz",
    "cpu_schedule.bin.zip",
    "modules.log",
    "funclist.log",
)


def touch(folder, *names):
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / name).touch()


def test_top_folder_trace_folder_and_file(tmp_path):
    touch(
        tmp_path / "trace",
        "b.trace.zip",
        "a.trace.gz",
        "odd-name",
        *IGNORED,
        "encodings.bin",
        "v2p.textproto",
    )
    touch(tmp_path / "raw", "a.raw")
    touch(tmp_path / "aux", "funclist.log")
    names = ["a.trace.gz", "b.trace.zip", "odd-name"]
    assert [path.name for path in trace_files(tmp_path)] == names
    assert [path.name for path in trace_files(tmp_path / "trace")] == names
    file = tmp_path / "trace" / "odd-name"
    assert trace_files(file) == [file]


def test_any_folder_of_traces(tmp_path):
    touch(tmp_path, "x.zip")
    (tmp_path / "folder").mkdir()
    assert [path.name for path in trace_files(tmp_path)] == ["x.zip"]


def test_auxiliary_files(tmp_path):
    touch(tmp_path / "trace", "t.zip")
    touch(tmp_path / "aux", "funclist.log")
    for place in (tmp_path, tmp_path / "trace", tmp_path / "trace" / "t.zip"):
        assert auxiliary_file(place, "funclist.log") == tmp_path / "aux" / "funclist.log"
    assert auxiliary_file(tmp_path, "v2p.textproto") is None


def test_nothing_there(tmp_path):
    with pytest.raises(FormatError, match="no trace files"):
        trace_files(tmp_path)
    os.mkfifo(tmp_path / "fifo")
    with pytest.raises(FormatError, match="no regular file"):
        trace_files(tmp_path / "fifo")
    touch(tmp_path / "raw", "a.raw")
    with pytest.raises(FormatError, match="trace: No such file or directory"):
        trace_files(tmp_path)
    with pytest.raises(FormatError, match="No such file or directory"):
        trace_files(tmp_path / "none")


def test_a_trace_that_is_still_to_be_made(tmp_path):
    touch(tmp_path / "raw", "records.bin")
    with pytest.raises(FormatError, match=r"no trace yet, .* interpose-memtrace finish"):
        trace_files(tmp_path)
