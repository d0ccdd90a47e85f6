"""Options of lockstep mode; all others are the engine's."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass

from interpose.errors import OptionError
from interpose.options.parse import parse, split_command_line

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.options.parse import Config

REGISTERS = ("rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi", *(f"r{n}" for n in range(8, 16)))
"""In the order of ``enum ip_gpr``."""
NEVER = (1 << 64) - 1

HELP = """\
usage: python -m interpose.lockstep [options] program [arguments]

Runs the program translated and on the real CPU, step by step, and stops at the first difference.
A step is a guest instruction.

    --skip-until=<where>         let the translation run alone until a function, the program's entry
                                 (entry, once its libraries are loaded), or an address (0x...)
    --start-at=<step>            compare from this step on                    [0]
    --stop-at=<step>             end at this step                             [never]
    --every-block=no|yes         translate whole blocks; compare at their ends [no]
    --vector-every=<n>           compare vector and x87 registers every n steps, and after each instruction
                                 that writes some; 0: only then               [1000]
    --memory-every=<n>           compare all memory that the program can write every n steps, not only what
                                 instructions wrote; 0: never                 [0]
    --undefined-flags=no|yes     compare flags that an instruction leaves undefined, too [no]
    --poke=<step>:<reg>=<value>  at this step, give a register of the translation another value (shows
                                 what a difference looks like)
    --pin=yes|no                 keep both on one CPU, which is faster        [yes]

Other options are those of interpose; --tool=none is the default here, and -q.
Exit code: 0 no difference, 1 a difference, 2 the program could not be followed to its end,
126 and 127 as for every run.
"""


@dataclass
class Options:
    """What the user asked for."""

    engine: Config
    words: tuple[str, ...]
    start_at: int = 0
    stop_at: int = NEVER
    skip_until: str | None = None
    every_block: bool = False
    vector_every: int = 1000
    memory_every: int = 0
    undefined_flags: bool = False
    pin: bool = True
    poke: tuple[int, int, int] | None = None

    def command(self, *changes: str) -> list[str]:
        """The command line that repeats the run with some options changed."""
        names = {word.partition("=")[0] for word in changes}
        own, program = split_command_line(self.words)
        kept = [word for word in own if word.partition("=")[0] not in names]
        return [sys.executable, "-m", "interpose.lockstep", *kept, *changes, *program]


def _number(word: str, text: str) -> int:
    try:
        value = int(text.replace("_", ""), 0)
    except ValueError:
        value = -1
    if not 0 <= value <= NEVER:
        raise OptionError.bad(word, "Not a number of steps")
    return value


def _yes_no(word: str, text: str) -> bool:
    if text not in ("yes", "no"):
        raise OptionError.bad(word, "Invalid value; use 'yes' or 'no'")
    return text == "yes"


def _poke(word: str, text: str) -> tuple[int, int, int]:
    match = re.fullmatch(r"([0-9]+):(\w+)=(?:0x([0-9a-fA-F]+)|([0-9]+))", text)
    if not match or match[2] not in REGISTERS:
        raise OptionError.bad(word, "Use step:register=value, as in 100:rbx=0x5")
    value = int(match[3], 16) if match[3] else int(match[4])
    if max(int(match[1]), value) > NEVER:
        raise OptionError.bad(word, "A number has more than 64 bits")
    return int(match[1]), REGISTERS.index(match[2]), value


def _place(word: str, text: str) -> str:
    if not text:
        raise OptionError.bad(word, "Use a function, 'entry', or an address 0x...")
    return text


_OWN = {
    "--start-at": ("start_at", _number),
    "--stop-at": ("stop_at", _number),
    "--skip-until": ("skip_until", _place),
    "--every-block": ("every_block", _yes_no),
    "--vector-every": ("vector_every", _number),
    "--memory-every": ("memory_every", _number),
    "--undefined-flags": ("undefined_flags", _yes_no),
    "--pin": ("pin", _yes_no),
    "--poke": ("poke", _poke),
}


def options(words: Sequence[str]) -> Options:
    """The options of a command line."""
    line, program = split_command_line(words)
    values: dict[str, object] = {}
    others: list[str] = []
    for word in line:
        name, equals, text = word.partition("=")
        if name in _OWN and equals:
            field, convert = _OWN[name]
            values[field] = convert(word, text)
        else:
            others.append(word)
    single = "no" if values.get("every_block") else "yes"
    # --chaining=no: every block is entered where the tracer sees it.
    engine = parse(
        [
            "--tool=none",
            "-q",
            f"--single-step={single}",
            *others,
            "--chaining=no",
            "--stop-after=0",
            "--vdso=no",
            "--",
            *program,
        ]
    )
    return Options(engine, tuple(words), **values)  # type: ignore[arg-type]
