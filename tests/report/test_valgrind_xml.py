"""Valgrind's XML as input of interpose-report: the same program has the same errors, by fingerprint."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from interpose.formats import FormatError, report
from interpose.reporting.compare import compare

SOURCE = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <valgrind/valgrind.h>
__attribute__((noinline)) void lose(void) { memset(malloc(33), 1, 33); }
__attribute__((noinline)) void over(char *p) { p[4] = 1; }
int main(int argc, char **argv) {
    char *p = malloc(4), *undefined = malloc(1);
    for (int i = 0; i < 5; i++) over(p);
    if (*undefined) argc++;
    write(1, undefined, 1);
    lose();
    VALGRIND_PRINTF("hello");
    free(p);
    free(undefined);
    free(undefined);
    if (argc > 1) *(volatile int *)8 = 1;
    return 0;
}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not shutil.which("valgrind"):
        pytest.skip("valgrind is not installed")
    folder = tmp_path_factory.mktemp("xml")
    (folder / "prog.c").write_text(SOURCE)
    subprocess.run(["gcc", "-g", "-O0", "-w", "-o", "prog", "prog.c"], check=True, cwd=folder)
    options = ["--leak-check=full", "--track-origins=yes"]
    for name, *words in (["out"], ["dead", "x"]):
        ours = [sys.executable, "-m", "interpose", "-q", f"--json-file={name}.jsonl"]
        theirs = ["valgrind", "-q", "--gen-suppressions=all", "--xml=yes", f"--xml-file={name}.xml"]
        for command in (ours, theirs):
            subprocess.run(
                [*command, *options, "./prog", *words], cwd=folder, capture_output=True, timeout=120
            )
    return folder


@pytest.mark.parametrize("name", ["out", "dead"])
def test_the_same_errors(name: str, folder: Path) -> None:
    theirs, ours = report.read(folder / f"{name}.xml"), report.read(folder / f"{name}.jsonl")
    found = compare(theirs, ours)
    # Registers that still hold a block's address when a signal ends the program differ between the engines.
    lost = [error for _, error in found.fixed if not (name == "dead" and isinstance(error, report.Leak))]
    assert not found.new and not lost and len(found.unchanged) >= 5
    assert {error.what: error.count for error in theirs.errors} == {e.what: e.count for e in ours.errors}
    assert name == "dead" or {leak.bytes for leak in theirs.leaks} == {leak.bytes for leak in ours.leaks} == {
        33
    }
    assert [(each.name, each.event, each.address) for each in theirs.fatal_signals] == [
        (each.name, each.event, each.address) for each in ours.fatal_signals
    ]
    assert theirs.processes[0].command[0] == "./prog" and theirs.processes[0].tool == "memcheck"
    origins = [error.origin.text for error in theirs.errors if error.origin is not None]
    assert origins == ["Uninitialised value was created by a heap allocation"] * 2
    (over,) = [error for error in theirs.errors if error.what == "Invalid write of size 1"]
    assert over.suppression.kind == "Memcheck:Addr1" and over.suppression.frames == ("fun:over", "fun:main")


def test_a_document_without_its_end(folder: Path, tmp_path: Path) -> None:
    text = (folder / "out.xml").read_bytes()
    part = tmp_path / "part.xml"
    for end in range(0, len(text), 500):
        part.write_bytes(text[:end])
        try:
            assert not report.read(part).complete or end > text.index(b"FINISHED")
        except FormatError as error:
            assert "this is no report" in error.message


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa">]><valgrindoutput>&a;</valgrindoutput>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (BOMB, "XML with definitions of its own is not read"),
        ('<?xml version="1.0"?><html></html>', "this is not Valgrind's XML"),
        ('<?xml version="1.0"?><valgrindoutput><pid>1</pidd>', "no XML: mismatched tag"),
        ("<valgrindoutput>" + "<a>" * 200, "nested too deep"),
        ('<?xml version="1.0" encoding="utf-16"?>', "no XML"),
    ],
)
def test_other_xml_is_refused(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "bad.xml").write_text(text)
    with pytest.raises(FormatError) as caught:
        report.read(tmp_path / "bad.xml")
    assert message in caught.value.message


def test_frames_of_cancellation_make_no_other_error(tmp_path: Path) -> None:
    """With glibc 2.41 and later, 3.24's stacks begin within `write`; ours and 3.27's begin with it."""
    inner = ("__syscall_cancel_arch", "__internal_syscall_cancel", "__syscall_cancel")
    for name, functions in (("old", (*inner, "write", "main")), ("new", ("write", "main")), ("none", inner)):
        frames = "".join(f"<frame><ip>0x1</ip><fn>{function}</fn></frame>" for function in functions)
        (tmp_path / f"{name}.xml").write_text(
            "<valgrindoutput><pid>1</pid><tool>memcheck</tool><error><unique>0x1</unique><tid>1</tid>"
            "<kind>SyscallParam</kind><what>Syscall param write(buf) points to uninitialised byte(s)</what>"
            f"<stack>{frames}</stack></error></valgrindoutput>"
        )
    old, new, none = (report.read(tmp_path / f"{name}.xml") for name in ("old", "new", "none"))
    assert [error.stack[0].function for error in old.errors] == [inner[0]]
    found = compare(old, new)
    assert len(found.unchanged) == 1 and not found.new and not found.fixed
    assert len(compare(none, new).new) == 1


def test_odd_numbers_and_names(tmp_path: Path) -> None:
    (tmp_path / "odd.xml").write_text(
        "<valgrindoutput><pid>x</pid><tool>memcheck</tool><error><unique>0x1</unique>"
        "<tid>99999999999999999999</tid><kind>InvalidRead</kind><what>w &lt;b&gt;</what>"
        "<stack><frame><ip>0xzz</ip><line>-3</line></frame></stack>"
        "</error><errorcounts><pair><count>1,000</count><unique>0x1</unique></pair>"
        "<pair><count>7</count><unique>0x9</unique></pair></errorcounts></valgrindoutput>"
    )
    (error,) = report.read(tmp_path / "odd.xml").errors
    assert (error.what, error.count, error.thread, error.stack[0].ip) == ("w <b>", 1000, None, 0)


def test_alignments_that_are_sizes_in_xml(tmp_path: Path) -> None:
    """Valgrind 3.26 and later, and ours: the same error as in JSON."""
    source = "#include <new>\nint main() { operator delete(operator new(4, std::align_val_t(64))); }\n"
    (tmp_path / "prog.cpp").write_text(source)
    subprocess.run(["g++", "-std=c++17", "-g", "-w", "-o", "prog", "prog.cpp"], check=True, cwd=tmp_path)
    for given in ("--json-file=out.jsonl", "--xml=yes --xml-file=out.xml"):
        command = [sys.executable, "-m", "interpose", "-q", *given.split(), "./prog"]
        subprocess.run(command, check=True, cwd=tmp_path, capture_output=True, timeout=120)
    assert " size alloc value: 64" in (tmp_path / "out.xml").read_text()
    xml, json = (report.read(tmp_path / f"out.{suffix}") for suffix in ("xml", "jsonl"))
    expected = ["Mismatched new/delete alignment alloc value: 64 dealloc value: default-aligned"]
    for content in (xml, json):
        assert [error.what for _, error in content.fingerprints()] == expected
