"""The command ``interpose-control``."""

from __future__ import annotations

import json
import os
import socket
from typing import Any, NamedTuple

from interpose import __version__
from interpose.console import talk
from interpose.control import place
from interpose.errors import InterposeError, OptionError, tell

USAGE = """\
usage: interpose-control [options] [pid|program ...]

Without a pid or a program's name, every run of the callgrind tool that is yours is meant.

  -h --help            show this
  --version            show the version
  -s --stat            threads, events, functions and blocks so far
  -b --back            what each thread is in
  -e --events[=<A,B>]  costs so far, by thread; with -b, also of each call that a thread is in
  -d --dump[=<text>]   write a profile now, and count from zero
  -z --zero            count from zero
  -k --kill            end the program, with status 0 and without a profile
  -i --instr=on|off    count, or do not
"""
ANSWER_SECONDS = 60


class Wish(NamedTuple):
    """What a command line asks for."""

    commands: list[dict[str, Any]]
    targets: list[str]


def parse(words: list[str]) -> Wish | str:
    """The wish, or a text to print."""
    commands: list[dict[str, Any]] = []
    targets = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, value = word.partition("=")
        if word in ("-h", "--help"):
            return USAGE
        if word == "--version":
            return f"interpose-control-{__version__}\n"
        if word in ("-s", "--stat"):
            commands.append({"command": "status"})
        elif word in ("-b", "--back"):
            commands.append({"command": "back"})
        elif name in ("-e", "--events"):
            commands.append({"command": "events", "events": value.split(",") if value else []})
        elif name in ("-d", "--dump"):
            commands.append({"command": "dump", "hint": value})
        elif word in ("-z", "--zero"):
            commands.append({"command": "zero"})
        elif word in ("-k", "--kill"):
            commands.append({"command": "kill"})
        elif name in ("-i", "--instr"):
            value = value if equals else (rest.pop(0) if rest else "")
            if value not in ("on", "off"):
                raise OptionError.bad(word, "on or off is expected")
            commands.append({"command": "instrumentation", "on": value == "on"})
        elif name == "--vgdb-prefix" or word == "-v":
            pass
        elif word.startswith("-"):
            raise OptionError.unknown(word)
        else:
            targets.append(word)
        if commands and len(json.dumps(commands[-1])) >= place.MAX_REQUEST:
            raise OptionError(f"{word:.20}…: more than a run can be told at once")
    events = [command["events"] for command in commands if command["command"] == "events"]
    for command in commands:
        if command["command"] == "back" and events:
            command["events"] = events[-1]
    return Wish(commands, targets)


def ask(path: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """One question and its answer; None if nobody is there any more."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as connection:
        connection.settimeout(ANSWER_SECONDS)
        try:
            connection.connect(path)
            connection.sendall(json.dumps(request).encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                piece = connection.recv(1 << 16)
                if not piece:
                    return None
                answer += piece
        except OSError:
            return None
    found = json.loads(answer)
    return found if isinstance(found, dict) else None


def runs(environ: dict[str, str]) -> list[tuple[int, str, str, str]]:
    """(pid, program, command, socket) of each run; sockets that nobody serves are taken away."""
    where = place.folder(environ)
    if not place.is_ours(where):
        return []
    found = []
    for name in sorted(os.listdir(where), key=lambda name: (len(name), name)):
        path = os.path.join(where, name)
        if not name.isdigit():
            continue
        answer = ask(path, {"command": "who"})
        if answer is not None:
            found.append((int(name), str(answer.get("program", "")), str(answer.get("cmd", "")), path))
    return found


def _names(pid: int, program: str) -> set[str]:
    """What a command line may call a run by."""
    return {str(pid), os.path.basename(program)}


def main(words: list[str]) -> int:
    """Run a command line."""
    wish = parse(words)
    if isinstance(wish, str):
        print(wish, end="")
        return 0
    active = runs(dict(os.environ))
    known = {name for run in active for name in _names(*run[:2])}
    chosen = [run for run in active if not wish.targets or _names(*run[:2]).intersection(wish.targets)]
    unknown = [target for target in dict.fromkeys(wish.targets) if target not in known]
    for target in unknown:
        tell(InterposeError(f"{target}: no active callgrind run has this number or name"))
    if not chosen:
        print("No active callgrind runs detected.")
        return 1
    is_silent = False
    for pid, _, command, path in chosen:
        print(f"PID {pid}: {command}")
        for request in wish.commands:
            answer = ask(path, request)
            if answer is None:
                print("  No answer: the program has ended.")
                is_silent = True
                break
            print("\n".join(f"  {line}" if line else "" for line in answer.get("lines", ["OK."])))
    return 1 if unknown or is_silent else 0


def entry() -> None:
    """For the installed command."""
    talk(main)
