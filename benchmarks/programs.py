"""The programs that are measured, and their input data, made anew in a folder."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).resolve().parent.parent
CPU, START = "cpu", "start"


class UnavailableError(Exception):
    """The machine lacks what a program needs; the text says what."""


@dataclass(frozen=True)
class Program:
    """One program to measure.

    :ivar name: what the table calls it.
    :ivar kind: ``CPU`` for long runs, ``START`` for runs that end at once; each has a mean of its own.
    :ivar make: makes the input data in a folder and returns the command.
    :ivar stdin: name of the file in that folder that becomes standard input.
    """

    name: str
    kind: str
    make: Callable[[Path], list[str]]
    stdin: str | None = None
    environment: dict[str, str] = field(default_factory=lambda: {"LC_ALL": "C", "PYTHONHASHSEED": "0"})


def _find(name: str) -> str:
    """The ELF file behind a command: wrapper scripts (pyenv's, for one) would be measured instead."""
    for folder in ("/usr/bin", "/bin", "/usr/local/bin", *os.environ.get("PATH", "").split(":")):
        path = os.path.realpath(os.path.join(folder, name))
        if os.access(path, os.X_OK) and os.path.isfile(path):
            with open(path, "rb") as file:
                if file.read(4) == b"\x7fELF":
                    return os.path.join(folder, name)
    raise UnavailableError(f"{name} is not installed")


def text(folder: Path, size: int, name: str = "text") -> str:
    """A file of words in lines, with the repetitions that compressors live on."""
    path = folder / f"{name}-{size}"
    if not path.exists():
        rng = random.Random(20020401)
        letters = "etaoinshrdlcumwfgypbvk"
        words = ["".join(rng.choices(letters, k=rng.randint(2, 9))) for _ in range(4000)]
        weights = [1 / (rank + 3) for rank in range(len(words))]
        lines: list[str] = []
        done = 0
        while done < size:
            line = " ".join(rng.choices(words, weights, k=rng.randint(4, 14))) + f" {rng.randrange(10**6)}\n"
            lines.append(line)
            done += len(line)
        path.write_text("".join(lines)[:size])
    return str(path)


def _write(folder: Path, name: str, content: str) -> str:
    path = folder / name
    path.write_text(content)
    return str(path)


PERL = r"""
use strict; use warnings;
my (%count, $total);
open(my $f, '<', $ARGV[0]) or die;
while (my $line = <$f>) {
    for my $word (split /\s+/, $line) {
        $count{$word}++;
        $total += length($word) if $word =~ /^[a-m]+[^xyz]*$/;
    }
}
my @top = sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count;
print "$total @top[0..9]\n";
sub fib { my $n = shift; return $n < 2 ? $n : fib($n - 1) + fib($n - 2) }
print fib(20), "\n";
"""

PYTHON = """
import collections
class Node:
    def __init__(self, value, rest):
        self.value, self.rest = value, rest
def work(n):
    total, chain = 0, None
    counts = collections.Counter()
    for i in range(n):
        chain = Node(i * 3 % 1009, chain)
        counts[f"{i % 97}:{chain.value}"] += 1
        total += sum(x * x for x in range(i % 13))
    while chain is not None:
        total ^= chain.value
        chain = chain.rest
    return total, len(counts), sorted(counts)[:3]
print(work(180000))
"""

SQL = """
create table t (id integer primary key, k integer, name text);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 150000)
  insert into t select i, (i * 7919) % 10007, 'name ' || (i % 1234) from n;
create index by_k on t (k);
select count(*), sum(a.id + b.id) from t a join t b on a.k = b.k where a.id % 3 = 0;
select name, count(*), avg(k) from t group by name order by 3 desc limit 5;
update t set k = k + 1 where name like '%77%';
select sum(length(name)), max(k) from t where name like 'name 1%';
"""

AWK = """
{ for (i = 1; i <= NF; i++) n[$i] += length($i) }
END { for (w in n) s += n[w] * (w ~ /^[a-h]/); print s }
"""

BC = """
scale = 1000
4 * a(1)
define f(n) { if (n < 2) return (n); return (f(n-1) + f(n-2)); }
f(23)
"""

JQ = """
[.[] | {k: (.id % 17), w: (.name | length)}]
| group_by(.k) | map({k: .[0].k, n: length, s: (map(.w) | add)})
"""


def _cc1(folder: Path) -> list[str]:
    """The C compiler proper, on as many of this project's sources as fit into one unit."""
    gcc = _find("gcc")
    shown = subprocess.run([gcc, "-print-prog-name=cc1"], capture_output=True, text=True, check=True)
    cc1 = shown.stdout.strip()
    if not os.path.isabs(cc1):
        raise UnavailableError("cc1 is not installed")
    root = SOURCES / "interpose"
    options = ["-w", "-ffreestanding", *(f"-I{root / part}" for part in ("abi", "runtime", "shadow"))]
    unit, out = folder / "unit.c", str(folder / "unit.i")
    parts: list[str] = []
    for part in sorted([*root.glob("runtime/*.c"), *root.glob("shadow/*.c")]):
        line = f'#include "{part}"\n'
        unit.write_text("".join([*parts, line]))
        # Files with static names in common do not go together.
        check = [gcc, *options, "-fsyntax-only", str(unit)]
        if subprocess.run(check, stderr=subprocess.DEVNULL, check=False).returncode == 0:
            parts.append(line)
    if not parts:
        raise UnavailableError("no source to compile")
    unit.write_text("".join(parts))
    subprocess.run([gcc, *options, "-E", "-P", str(unit), "-o", out], check=True)
    return [cc1, "-quiet", "-w", "-ffreestanding", "-O1", "-fpreprocessed", out, "-o", "-"]


def _jq(folder: Path) -> list[str]:
    rng = random.Random(7)
    rows = ",\n".join(f'{{"id": {i}, "name": "{"x" * rng.randint(1, 30)}"}}' for i in range(40000))
    return [_find("jq"), "-c", JQ, _write(folder, "rows.json", f"[{rows}]\n")]


MB = 1 << 20
PROGRAMS = (
    Program("gzip", CPU, lambda d: [_find("gzip"), "-9", "-c", text(d, 5 * MB)]),
    Program("bzip2", CPU, lambda d: [_find("bzip2"), "-c", text(d, 4 * MB)]),
    Program("xz", CPU, lambda d: [_find("xz"), "-3", "-T1", "-c", text(d, MB)]),
    Program("perl", CPU, lambda d: [_find("perl"), _write(d, "p.pl", PERL), text(d, 2 * MB)]),
    Program("sqlite3", CPU, lambda d: [_find("sqlite3"), ":memory:"], stdin="script.sql"),
    Program("python3", CPU, lambda d: [_find("python3"), "-I", "-S", _write(d, "p.py", PYTHON)]),
    Program("cc1", CPU, _cc1),
    Program("sort", CPU, lambda d: [_find("sort"), "-S", "256M", "--parallel=1", "-k2", text(d, 24 * MB)]),
    Program("sha256sum", CPU, lambda d: [_find("sha256sum"), *[text(d, 8 * MB)] * 16]),
    Program("awk", CPU, lambda d: [_find("awk"), AWK, text(d, 8 * MB)]),
    Program(
        "openssl",
        CPU,
        lambda d: [
            *(_find("openssl"), "enc", "-aes-256-ctr", "-pbkdf2", "-iter", "600000"),
            *("-S", "0011223344556677", "-pass", "pass:benchmark", "-in", text(d, MB)),
        ],
    ),
    Program("bc", CPU, lambda d: [_find("bc"), "-l", "-q"], stdin="program.bc"),
    Program("jq", CPU, _jq),
    Program("true", START, lambda d: ["/bin/true"]),
    Program("ls", START, lambda d: ["/bin/ls", "-l", "/usr/bin"]),
    Program("perl-e", START, lambda d: [_find("perl"), "-e", "print 1"]),
    Program("python3-c", START, lambda d: [_find("python3"), "-I", "-S", "-c", "print(1)"]),
)


def make(program: Program, folder: Path) -> list[str]:
    """Make the data of a program and return its command; raises :class:`UnavailableError`."""
    command = program.make(folder)
    if program.stdin == "script.sql":
        _write(folder, program.stdin, SQL)
    elif program.stdin == "program.bc":
        _write(folder, program.stdin, BC)
    if not shutil.which(command[0]):
        raise UnavailableError(f"{command[0]} cannot be executed")
    return command
