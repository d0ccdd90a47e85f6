"""Brings Valgrind's XML and ours into a form that can be compared line by line."""

from __future__ import annotations

import re

_TAKEN_OUT = (
    (r"<line>(?:Copyright|Using).*?</line>", "<line>…</line>"),
    (r"<(vargv|pid|ppid|time|unique|ip)>.*?</\1>", r"<\1>…</\1>"),
    # The replaced functions.
    (r"<obj>[^<]*/(?:vgpreload_\w+-amd64-linux|interpose-stubs)\.so</obj>", "<obj>stubs</obj>"),
    # Theirs, where their debug information is installed.
    (r"(<obj>stubs</obj>\s*<fn>[^<]*</fn>)\n *<dir>.*?</dir>\s*<file>.*?</file>\s*<line>\d+</line>", r"\1"),
    # Valgrind has no clone3.
    (r"(<fn>clone</fn>)\n *<dir>.*?</dir>\n *<file>.*?</file>\n *<line>.*?</line>", r"\1"),
    (r"\n</what>\n?", "</what>\n"),  # behind some texts of 3.19's
    (r"0x[0-9a-fA-F]{6,}", "0x…"),
)  # fmt: skip


def normalised(document: str) -> str:
    """A document without what differs from run to run and from one engine to the other."""
    for pattern, replacement in _TAKEN_OUT:
        document = re.sub(pattern, replacement, document, flags=re.DOTALL)
    if "<protocolversion>6<" in document:  # 3.27 leaves other lines empty, and has commas in a number
        document = re.sub(r"\n{2,}", "\n", document)
        document = re.sub(r"(?<=<bytes_allocated>)[\d,]+", lambda found: found[0].replace(",", ""), document)
    return re.sub(r"<errorcounts>\n(.*?)</errorcounts>", _sorted_pairs, document, flags=re.DOTALL)


def _sorted_pairs(found: re.Match[str]) -> str:
    """The order is that of the last occurrences, of which our runtime keeps only the numbers."""
    counts = sorted(map(int, re.findall(r"<count>(\d+)</count>", found[1])))
    return f"<errorcounts>{counts}</errorcounts>"
