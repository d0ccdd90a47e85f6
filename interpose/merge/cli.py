"""The command ``interpose-merge``."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import NamedTuple

from interpose import __version__
from interpose.console import talk
from interpose.errors import InterposeError, OptionError
from interpose.merge.groups import Group, Groups
from interpose.merge.readers import read

USAGE = """\
usage: interpose-merge [options] LOG…

Tells each error of many ranks' logs once, with the ranks that have it. LOG is a log of interpose's or
Valgrind's (text, XML or JSON Lines), a folder of logs, or - : standard input has a name on each line.

  -h --help       show this
  --version       show the version
  --json          one line of JSON for each error, and one for the logs
  --rank=<n>      the n-th number in a log's name is its rank (from 1; -1 is the last);
                  otherwise the first number in which the names differ
"""
_NUMBER = re.compile(r"\d+")


class Wish(NamedTuple):
    """What a command line asks for."""

    logs: list[str]
    as_json: bool
    which: int | None


def parse(words: list[str]) -> Wish | str:
    """The wish, or a text to print."""
    logs: list[str] = []
    as_json, which = False, None
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, _, value = word.partition("=")
        if word in ("-h", "--help"):
            return USAGE
        if word == "--version":
            return f"interpose-merge-{__version__}\n"
        if word == "--json":
            as_json = True
        elif name == "--rank":
            if not re.fullmatch(r"-?[1-9]\d{0,3}", value):
                raise OptionError.bad(word, "a number from 1 on, or from -1 down, is wanted")
            which = int(value)
        elif word == "--":
            logs += rest
            break
        elif word == "-":
            logs += [line for line in sys.stdin.read().splitlines() if line]
        elif word.startswith("-"):
            raise OptionError.unknown(word)
        else:
            logs.append(word)
    logs = [log for name in logs for log in _files(name)]
    if not logs:
        raise OptionError("no logs to merge")
    return Wish(logs, as_json, which)


def _files(name: str) -> list[str]:
    if not os.path.isdir(name):
        return [name]
    try:
        inside = sorted(os.listdir(name))
    except OSError as error:
        raise InterposeError(f"{name}: cannot be read: {error.strerror}") from None
    return [path for path in (os.path.join(name, entry) for entry in inside) if os.path.isfile(path)]


def ranks(logs: list[str], which: int | None = None) -> list[int]:
    """The rank of each log: a number in its name; its place where the names do not say."""
    numbers = [_NUMBER.findall(os.path.basename(log)) for log in logs]
    places = list(range(len(logs)))
    if which is not None:
        index = which - 1 if which > 0 else which
        try:
            return [int(found[index][-18:]) for found in numbers]
        except IndexError:
            bad = next(
                log for log, found in zip(logs, numbers, strict=True) if not -len(found) <= index < len(found)
            )
            raise InterposeError(f"{bad}: its name has no {abs(which)} numbers") from None
    if len({len(found) for found in numbers}) != 1:
        return places
    for column in zip(*numbers, strict=True):
        if len(set(column)) == len(column) or len(logs) == 1:
            return [int(text[-18:]) for text in column]
    return places


def merge(wish: Wish) -> int:
    """Print what the logs have in common; 1 if none of them could be read."""
    groups, complaints, silent, unread = Groups(), [], 0, 0
    numbered = sorted(zip(ranks(wish.logs, wish.which), wish.logs, strict=True))
    for rank, log in numbered:
        errors, complaint = read(log)
        groups.add(rank, errors)
        if complaint is not None:
            complaints.append((rank, log, complaint))
        is_unread = complaint is not None and complaint.startswith(("cannot", "is no log"))
        unread += is_unread
        silent += not (errors or is_unread)
    show = _show_json if wish.as_json else _show_text
    show(groups, complaints, len(numbered), silent)
    return 1 if unread == len(numbered) else 0


def _times(n: int) -> str:
    return "once" if n == 1 else f"{n} times"


def _number(n: int, what: str) -> str:
    return f"{n:,} {what}{'' if n == 1 else 's'}"


def _heading(group: Group) -> str:
    text = f"{group.ranks}: {_times(group.times)}"
    if group.amounts is not None:
        text += f", {_number(group.amounts[0], 'byte')} in {_number(group.amounts[1], 'block')}"
    return text


def _show_text(groups: Groups, complaints: list[tuple[int, str, str]], logs: int, silent: int) -> None:
    write = sys.stdout.write
    for group in groups.ordered():
        write(f"{_heading(group)}\n{group.text}\n\n")
    if groups.ungrouped:
        write(f"{groups.ungrouped} more errors, of further kinds, are not shown\n")
    for rank, log, complaint in complaints:
        write(f"rank {rank}: {log} {complaint}\n")
    different = _number(len(groups.groups), "different error")
    write(f"{_number(logs, 'log')}, {silent} without errors: {different}\n")


def _show_json(groups: Groups, complaints: list[tuple[int, str, str]], logs: int, silent: int) -> None:
    write = sys.stdout.write
    for group in groups.ordered():
        record = {
            "record": "error",
            "ranks": group.ranks.intervals,
            "rank_count": group.ranks.count,
            "times": group.times,
            "what": group.text.partition("\n")[0],
            "text": group.text,
        }
        if group.amounts is not None:
            record["bytes"], record["blocks"] = group.amounts
        write(json.dumps(record, ensure_ascii=False) + "\n")
    bad = [{"rank": rank, "log": log, "complaint": text} for rank, log, text in complaints]
    end = {
        "record": "end",
        "logs": logs,
        "without_errors": silent,
        "ungrouped": groups.ungrouped,
        "complaints": bad,
    }
    write(json.dumps(end) + "\n")


def main(words: list[str]) -> int:
    """Run a command line."""
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    wish = parse(words)
    if isinstance(wish, str):
        print(wish, end="")
        return 0
    return merge(wish)


def entry() -> None:
    """The console script."""
    talk(main, at_once=True)


if __name__ == "__main__":
    entry()
