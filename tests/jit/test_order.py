"""Lines that rely on the order or the values of an enumeration say so: ORDER, and its name."""

from __future__ import annotations

import re
from pathlib import Path

SOURCES = [
    path for end in ("c", "h", "S") for path in (Path(__file__).parents[2] / "interpose").rglob(f"*.{end}")
]
TAG = re.compile(r"\bORDER ((?:(?:enum )?\w+\*?(?:, )?)+)")


def test_tags_name_what_there_is_and_some_assertion_holds_it() -> None:
    texts = {path: path.read_text() for path in SOURCES}
    code = "\n".join(texts.values())
    tagged: dict[str, list[str]] = {}
    for text in texts.values():
        for match in TAG.finditer(text):
            statement = text[: match.start()].rsplit(";", 1)[-1]
            for name in match[1].rstrip(", ").split(", "):
                tagged.setdefault(name.removeprefix("enum "), []).append(statement)
    assert {"ip_gpr", "ip_exit_kind", "ip_counter", "ip_sym", "rt_where", "IP_U_*"} <= tagged.keys()
    for name, statements in tagged.items():
        known = f"#define {name[:-1]}" if name.endswith("*") else f"enum {name} {{"
        assert known in code, f"ORDER {name}: there is none"
        assert any("_Static_assert" in statement for statement in statements), (
            f"ORDER {name}: nothing asserts it"
        )
