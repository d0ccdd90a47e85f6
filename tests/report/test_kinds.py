"""The kinds of errors: every table that names them names the same ones."""

from __future__ import annotations

import json
import re
from pathlib import Path

from interpose.formats.report import model
from interpose.report import core_errors
from interpose.report.suppressions import CORE_ERRORS
from interpose.reporting.rules import RULES
from interpose.tools.memcheck.errors import KINDS, LEAK_XML, ErrorRecord, suppression_component

ROOT = Path(__file__).parents[2]
FORMATS = ROOT / "interpose" / "formats" / "report"

CORE = {kind.xml for kind in (core_errors.FD_BAD_CLOSE, core_errors.FD_NOT_CLOSED, core_errors.FD_BAD_USE)}
VALGRINDS = {"CoreMemError"}
"""What its reports may have, which interpose-report reads, and ours never."""
ALL = {row.xml for row in KINDS.values()} | set(LEAK_XML.values()) | CORE


def test_each_has_a_rule() -> None:
    assert set(RULES) == ALL | VALGRINDS | {"FatalSignal"}


def test_the_schema_of_xml_has_each() -> None:
    define = re.search(
        r'<define name="kind">(.*?)</define>', (FORMATS / "valgrind.rng").read_text(), re.DOTALL
    )
    assert define is not None
    assert set(re.findall(r"<value>(\w+)</value>", define[1])) == ALL | VALGRINDS


def test_leaks_have_one_word_each() -> None:
    assert {name: word for word, name in LEAK_XML.items()} == model.LEAK_KINDS
    schema = json.loads((FORMATS / "schema.json").read_text())
    assert {frozenset(names) for names in _leak_names(schema)} == {frozenset(LEAK_XML.values())}


def _leak_names(schema: object) -> list[list[str]]:
    """The enumerations of leak kinds anywhere in a schema."""
    if isinstance(schema, list):
        return [names for part in schema for names in _leak_names(part)]
    if not isinstance(schema, dict):
        return []
    here = [schema["enum"]] if any(str(name).startswith("Leak_") for name in schema.get("enum", ())) else []
    return here + _leak_names(list(schema.values()))


def test_core_kinds_can_be_suppressed() -> None:
    assert set(CORE_ERRORS.kinds) - {"Thread"} == CORE


def test_the_specification_names_each() -> None:
    text = (ROOT / "docs" / "spec" / "output.md").read_text()
    assert {name for name in ALL if not re.search(rf"\b{name}\b", text)} == set()


def test_generated_suppressions_can_be_read() -> None:
    """A line beside the frames that a kind gives its suppressions is one that files may have."""
    read = suppression_component().kinds
    for kind, row in KINDS.items():
        record = ErrorRecord(kind, size=8, text="f(x)")
        written = row.supp_extra(record)
        name = row.suppression(record) if callable(row.suppression) else row.suppression
        extra = read[name]
        assert (written is None) == (extra is None), kind
        if extra is not None and written is not None:
            assert extra.parse(written) == written
