"""The command line of ``interpose-vgdb``.  Options, and what is said of bad ones, are those of Valgrind's."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from interpose.gdb.packets import PACKET_SIZE

HINT = "args error. Try `interpose-vgdb --help` for more information"
USAGE = """\
Usage: interpose-vgdb [OPTION]... [[-c] COMMAND]...
interpose-vgdb has three uses
  1. standalone, to send monitor commands to a program that runs under interpose.
     The OPTION(s) must be followed by the command to send.
     To send more than one command, separate the commands with -c
  2. relay between gdb and such a program (target remote | interpose-vgdb).
     Only OPTION(s) can be given.
  3. --multi: server for gdb's extended-remote protocol, which starts programs
     under interpose (target extended-remote | interpose-vgdb --multi).

 OPTIONS are [--pid=<number>] [--vgdb-prefix=<prefix>]
             [--wait=<number>] [--max-invoke-ms=<number>]
             [--port=<portnr>]
             [--cmd-time-out=<number>] [-l] [-T] [-D] [-d] [-q] [-v]
             [--multi] [--valgrind=<interpose-exe>] [--vargs ...]

  --pid arg must be given if multiple programs are found.
  --vgdb-prefix arg must be given to both interpose and interpose-vgdb
      if you want to change the prefix (default $TMPDIR/vgdb-pipe or
      /tmp/vgdb-pipe) of the FIFOs between them.
  --wait (default 0) tells interpose-vgdb to check during the specified number
      of seconds if a program can be found.
  --max-invoke-ms (default 100) is accepted for Valgrind's sake: a blocked
      program answers by itself, and nobody is forced to.
  --port instructs interpose-vgdb to listen for gdb on the specified port nr of
      the loopback interface; only the same user's gdb is let in.
  --cmd-time-out (default 99999999) tells interpose-vgdb to exit if the program
      has not processed a command after number seconds
  --multi starts in extended-remote mode: gdb's run starts the program.
  --valgrind, pass the path to the interpose to use (or to a valgrind).
      If not specified, the one that interpose-vgdb belongs to.
  --vargs everything that follows is an argument for it.
  -c  separates commands
  -l  arg tells to show the list of running programs and then exit.
  -T  arg tells to add timestamps to information messages.
  -D  arg tells to show shared mem status and then exit.
  -d  arg tells to show debug info. Multiple -d args for more debug info
  -q  says nothing but replies and errors
  -v  says more

  -h --help shows this message
  To get help from the program's side, use interpose-vgdb help
"""


class UsageError(Exception):
    """A command line that means nothing: the text says why."""


@dataclass
class Wishes:
    """What a command line asks for.

    :ivar commands: monitor commands to send; none: relay.
    :ivar wait: seconds to wait for a program.
    :ivar time_out: seconds that a command may take.
    """

    pid: int | None = None
    prefix: str | None = None
    wait: int = 0
    max_invoke_ms: int = 100
    port: int | None = None
    time_out: int = 99999999
    listing: bool = False
    shared: bool = False
    time_stamps: bool = False
    debug: int = 0
    quiet: bool = False
    verbose: bool = False
    multi: bool = False
    exe: str | None = None
    arguments: list[str] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)
    help: bool = False


_NUMBERS = {
    "--pid": "pid",
    "--wait": "wait",
    "--max-invoke-ms": "max_invoke_ms",
    "--port": "port",
    "--cmd-time-out": "time_out",
}
_FLAGS = {
    "-l": "listing",
    "-D": "shared",
    "-T": "time_stamps",
    "-q": "quiet",
    "-v": "verbose",
    "--multi": "multi",
    "--vgdb-multi": "multi",
    "-h": "help",
    "--help": "help",
}


_LONGEST_COMMAND = (PACKET_SIZE - len("$qRcmd,#00")) // 2
"""Bytes; each is two digits of a packet that the program's server takes as a whole."""
_SHOWN = 60  # characters of a command that is too long


def _number(word: str, name: str, text: str) -> int:
    """None is 0, as with Valgrind; but port 0 is one that is asked for."""
    if text == "" and name != "--port":
        return 0
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) >= 1 << 31:
        raise UsageError(f"invalid {name} argument {word}")
    return int(text)


def parse(words: list[str]) -> Wishes:
    """The wishes of a command line; :class:`UsageError` for one that cannot be meant."""
    wishes = Wishes()
    commands: list[list[str]] = []
    problems: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "-c":
            commands.append([])
        elif word == "--vargs":
            wishes.arguments, rest = rest, []
        elif word.startswith("-"):
            try:
                _take_option(wishes, word)
            except UsageError as error:
                problems.append(str(error))
        else:
            if not commands:
                commands.append([])
            commands[-1].append(word)
    wishes.commands = [" ".join(command) for command in commands]
    if wishes.help:
        return wishes
    if problems:
        raise UsageError("\n".join(problems))
    return _checked(wishes)


def _take_option(wishes: Wishes, word: str) -> None:
    name, equals, text = word.partition("=")
    if word in _FLAGS:
        setattr(wishes, _FLAGS[word], True)
    elif set(word[1:]) == {"d"}:
        wishes.debug += len(word) - 1
    elif equals and name in _NUMBERS:
        if name == "--pid" and wishes.pid is not None:
            raise UsageError("multiple --pid arguments given")
        setattr(wishes, _NUMBERS[name], _number(word, name, text))
    elif equals and name == "--vgdb-prefix":
        wishes.prefix = text
    elif equals and name == "--valgrind":
        wishes.exe = text
    else:
        raise UsageError(f"unknown or invalid argument {word}")


def _checked(wishes: Wishes) -> Wishes:
    if wishes.pid is not None and wishes.listing:
        raise UsageError("Can't use both --pid and -l options")
    if wishes.shared and wishes.listing:
        raise UsageError("Can't use both -D and -l options")
    if wishes.max_invoke_ms >= wishes.time_out * 1000:
        raise UsageError("--max-invoke-ms must be < --cmd-time-out * 1000")
    if wishes.port is not None and wishes.commands:
        raise UsageError("Can't use --port to send commands")
    if wishes.multi and (wishes.commands or wishes.pid is not None or wishes.listing or wishes.shared):
        raise UsageError("Can't use --multi with --pid, -l, -D or commands")
    if not wishes.multi and (wishes.arguments or wishes.exe is not None):
        raise UsageError("Can't use --valgrind or --vargs without --multi")
    if wishes.port is not None and not 0 <= wishes.port <= 65535:
        raise UsageError(f"invalid --port argument --port={wishes.port}")
    for command in wishes.commands:
        if len(os.fsencode(command)) > _LONGEST_COMMAND:
            shown = f"{command[:_SHOWN]}..."
            raise UsageError(f"command {shown} too long: at most {_LONGEST_COMMAND} bytes")
    return wishes
