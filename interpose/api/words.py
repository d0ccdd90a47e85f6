"""Keyword arguments to option words, by the option tables."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping
from typing import Any

from interpose import tools
from interpose.options.core import CoreOptions
from interpose.options.spec import Flag, HexByte, Integer, Numbered, Option, Repeated, Table

RESERVED = {
    "tool": "it is an argument of its own",
    "json_fd": "the result has the report",
    "json_file": "the result has the report; see its save()",
    "json_socket": "the result has the report",
    "help": "it runs nothing",
    "help_debug": "it runs nothing",
    "help_dyn_options": "it runs nothing",
    "version": "it runs nothing",
    "include_dir": "it runs nothing",
    "gdb_script": "it runs nothing",
    "dap": "it runs what an editor asks for",
}


def keyword(option: Option) -> str:
    """The name of an option as a keyword argument."""
    return option.dest


def _rows(tool: str) -> dict[str, Option]:
    rows: dict[str, Option] = {}
    tables: list[type[Table]] = [CoreOptions, tools.load(tool).Options]
    for table in tables:
        for option in table.options():
            rows[option.dest] = option
            for spelling in option.spellings():
                rows.setdefault(spelling.lstrip("-").replace("-", "_"), option)
    return rows


def words(tool: str, options: Mapping[str, Any]) -> list[str]:
    """The option words for keyword arguments; TypeError for one that is no option, with near names."""
    rows = _rows(tool)
    found = []
    for name, value in options.items():
        option = rows.get(name)
        if option is None:
            near = difflib.get_close_matches(name, rows, 3, 0.6)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise TypeError(f"run() got an unexpected keyword argument {name!r}, no option of {tool}{hint}")
        if option.dest in RESERVED:
            raise TypeError(f"run() does not take {name!r}: {RESERVED[option.dest]}")
        if isinstance(value, Mapping):  # --separate-callers2=main beside --separate-callers=2
            option = rows.get(f"{name}<n>", option)
        if value is not None:
            found += _words(option, name, value)
    return found


def _words(option: Option, name: str, value: Any) -> list[str]:
    if isinstance(option, Flag):
        return _flags(option, name, value)
    if isinstance(option, Repeated) and not isinstance(value, (str, bytes, os.PathLike)):
        return [f"{option.name}={_text(option, name, each)}" for each in value]
    if isinstance(option, Numbered):
        stem = option.name.removesuffix("<n>")
        pairs: Iterable[tuple[int, Any]] = value.items() if isinstance(value, Mapping) else value
        return [
            f"{stem}{int(number)}={_text(option, name, each)}"
            for number, texts in pairs
            for each in ([texts] if isinstance(texts, (str, bytes, os.PathLike)) else texts)
        ]
    return [f"{option.name}={_text(option, name, value)}"]


def _flags(option: Flag, name: str, value: Any) -> list[str]:
    if isinstance(value, bool):
        return [option.name] if value else []
    if isinstance(value, int) and option.dest == "verbosity":
        return [option.name] * (value - 1) if value >= 1 else ["-q"] * (1 - value)
    if isinstance(value, int) and option.holds_value and value >= 0:
        return [option.name] * value
    raise TypeError(f"{name} must be True or False, not {value!r}")


def _text(option: Option, name: str, value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        if isinstance(option, HexByte) or (isinstance(option, Integer) and option.base == 16):
            return hex(value)
        return str(value)
    if isinstance(value, (str, bytes, os.PathLike)):
        return os.fsdecode(value)
    if isinstance(value, (set, frozenset)):
        value = sorted(value)
    if isinstance(value, (list, tuple)):
        if not value and isinstance(option.default, frozenset):
            return "none"
        if option.dest.endswith("_socket") and len(value) == 2:
            return f"{value[0]}:{value[1]}"
        if option.dest == "ignore_ranges":
            return ",".join(f"{low:#x}-{high:#x}" for low, high in value)
        if option.dest == "ignore_range_below_sp" and len(value) == 2:
            return f"{value[0]}-{value[1]}"
        return ",".join(_text(option, name, each) for each in value)
    raise TypeError(f"{name} cannot be {value!r}")
