"""The command line of ``interpose-vgdb``.  Options, and what is said of bad ones, are those of Valgrind's."""

from __future__ import annotations

from dataclasses import dataclass, field

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


def _number(word: str, name: str, text: str) -> int:
    if text == "" and name == "--pid":
        text = "0"
    if not (text.isascii() and text.isdigit()) or len(text) > 10 or int(text) >= 1 << 31:
        raise UsageError(f"invalid {name} argument {word}")
    return int(text)


def parse(words: list[str]) -> Wishes:
    """The wishes of a command line; :class:`UsageError` for one that cannot be meant."""
    wishes = Wishes()
    commands: list[list[str]] = []
    seen: set[str] = set()
    rest = list(words)
    while rest:
        word = rest.pop(0)
        name, equals, text = word.partition("=")
        if word in _FLAGS:
            setattr(wishes, _FLAGS[word], True)
        elif word.startswith("-d") and set(word[1:]) == {"d"}:
            wishes.debug += len(word) - 1
        elif word == "-c":
            commands.append([])
        elif word == "--vargs":
            wishes.arguments, rest = rest, []
        elif equals and name in _NUMBERS:
            if name in seen:
                raise UsageError(f"multiple {name} arguments given")
            seen.add(name)
            setattr(wishes, _NUMBERS[name], _number(word, name, text))
        elif equals and name == "--vgdb-prefix":
            wishes.prefix = text
        elif equals and name == "--valgrind":
            wishes.exe = text
        elif word.startswith("-"):
            raise UsageError(f"unknown or invalid argument {word}")
        else:
            if not commands:
                commands.append([])
            commands[-1].append(word)
    wishes.commands = [" ".join(command) for command in commands]
    return _checked(wishes)


def _checked(wishes: Wishes) -> Wishes:
    if wishes.pid is not None and wishes.listing:
        raise UsageError("Can't use both --pid and -l options")
    if wishes.port is not None and wishes.commands:
        raise UsageError("Can't use --port to send commands")
    if wishes.multi and (wishes.commands or wishes.pid is not None or wishes.listing or wishes.shared):
        raise UsageError("Can't use --multi with --pid, -l, -D or commands")
    if wishes.port is not None and not 0 <= wishes.port <= 65535:
        raise UsageError(f"invalid --port argument --port={wishes.port}")
    return wishes
