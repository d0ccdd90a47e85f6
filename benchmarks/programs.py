"""The programs that are measured, and their input data, made anew in a folder."""

from __future__ import annotations

import os
import random
import re
import shutil
import subprocess
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

SOURCES = Path(__file__).resolve().parent.parent
CPU, START, LONG, THREADS, MEMORY = "cpu", "start", "long", "threads", "memory"
CORNERS = "corners"


class UnavailableError(Exception):
    """The machine lacks what a program needs; the text says what."""


@dataclass(frozen=True)
class Program:
    """One program to measure.

    :ivar name: what the table calls it.
    :ivar kind: ``CPU`` for runs of a quarter second and more, ``LONG`` for the same work many times over,
        ``START`` for runs that end at once, each with a mean of its own; ``THREADS`` for one program with one
        thread and with two that do as much each; ``MEMORY`` for programs that do little but have much;
        ``CORNERS`` for one thing, done often, that none of the others does.
    :ivar make: makes the input data in a folder and returns the command; the number says how often the work
        is to be done.
    :ivar stdin: what becomes standard input, for a number of times.
    """

    name: str
    kind: str
    make: Callable[[Path, int], list[str]]
    stdin: Callable[[int], str] | None = None
    times: int = 1
    long: int = 0
    """How often the work fills some ten seconds."""
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
while (my $line = <>) {
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
for _ in range(TIMES):
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
drop table t;
"""

AWK = """
{ for (i = 1; i <= NF; i++) n[$i] += length($i) }
END { for (w in n) s += n[w] * (w ~ /^[a-h]/); print s }
"""

BC = """
scale = 1000
4 * a(1)
define f(n) { if (n < 2) return (n); return (f(n-1) + f(n-2)); }
for (i = 0; i < TIMES; i++) f(23)
"""

JQ = """
[.[] | {k: (.id % 17), w: (.name | length)}]
| group_by(.k) | map({k: .[0].k, n: length, s: (map(.w) | add)})
"""


def _cc1(folder: Path, times: int) -> list[str]:
    """The C compiler proper, on as many of this project's sources as fit into one unit.

    Names can be defined only once: more work is a unit of made-up functions.
    """
    gcc = _find("gcc")
    shown = subprocess.run([gcc, "-print-prog-name=cc1"], capture_output=True, text=True, check=True)
    cc1 = shown.stdout.strip()
    if not os.path.isabs(cc1):
        raise UnavailableError("cc1 is not installed")
    if times > 1:
        made = _write(folder, "made.i", _functions(80 * times))
        return [cc1, "-quiet", "-w", "-O2", "-fpreprocessed", made, "-o", "-"]
    root = SOURCES / "interpose"
    options = ["-w", "-ffreestanding", f"-I{root}"]
    unit, out = folder / "unit.c", str(folder / "unit.i")
    parts: list[str] = []
    for part in sorted([*root.glob("runtime/*/*.c"), *root.glob("shadow/*.c")]):
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


THREADS_C = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *work(void *result)
{
    unsigned table[1024], s = 1;
    for (unsigned i = 0; i < 1024; i++) table[i] = i * 2654435761u;
    for (unsigned k = 0; k < 60000; k++)
        for (unsigned i = 0; i < 1024; i++) {
            s += table[i] ^ (s >> 3);
            if (s & 64) table[i] = s; else s ^= table[(s >> 5) & 1023];
        }
    *(unsigned *)result = s;
    return NULL;
}
int main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 1;
    pthread_t t[16];
    unsigned result[16];
    for (int i = 0; i < n; i++) pthread_create(&t[i], NULL, work, &result[i]);
    for (int i = 0; i < n; i++) pthread_join(t[i], NULL);
    for (int i = 0; i < n; i++) printf("%u\n", result[i]);
    return 0;
}
"""


def _threads(folder: Path, times: int) -> list[str]:
    """A thread or more without memory in common: as much work for each."""
    source, program = _write(folder, "threads.c", THREADS_C), str(folder / "threads")
    subprocess.run([_find("gcc"), "-O2", "-pthread", source, "-o", program], check=True)
    return [program, str(times)]


MEMORY_C = r"""
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    size_t blocks = strtoul(argv[1], NULL, 10), size = strtoul(argv[2], NULL, 10), sum = 0;
    size_t **all = malloc(blocks * sizeof *all);
    for (size_t i = 0; i < blocks; i++) {
        all[i] = malloc(size);
        for (size_t k = 0; k < size / sizeof **all; k++) all[i][k] = i + k;
    }
    for (size_t i = 0; i < blocks; i++) sum += all[i][size / sizeof **all - 1];
    for (size_t i = 0; i < blocks; i++) free(all[i]);
    free(all);
    printf("%zu\n", sum);
    return 0;
}
"""


def _blocks(folder: Path, count: int, size: int) -> list[str]:
    """A program that asks for blocks, fills them, and has all of them at a time."""
    source, program = _write(folder, "blocks.c", MEMORY_C), str(folder / "blocks")
    subprocess.run([_find("gcc"), "-O1", source, "-o", program], check=True)
    return [program, str(count), str(size)]


def _functions(count: int) -> str:
    """C functions of loops, branches, calls and arithmetic, each different."""
    rng = random.Random(14)
    parts = ["unsigned g[256];\n"]
    for number in range(count):
        head = f"unsigned f{number}(unsigned *p, unsigned n, unsigned x)"
        lines = [f"{head}\n{{\n unsigned i, s = {number}u;\n"]
        for _ in range(rng.randint(2, 5)):
            a, b, c = (rng.randint(1, 255) for _ in range(3))
            turn = a % 13 + 1
            lines.append(
                f" for (i = 0; i < n; i++) {{ s += p[i] * {a}u ^ (s >> {b % 31 + 1}); "
                f"if (s & {c}u) s -= g[(i + {b}u) & 255u]; else p[i] ^= s + x; }}\n"
            )
            lines.append(
                f" switch (s % {c % 7 + 3}u) {{ case 0: s += {a}u; break; case 1: s ^= x * {b}u; break; "
                f"case 2: g[s & 255u] = x; break; default: s = s << {turn} | s >> {32 - turn}; }}\n"
            )
        if number:
            lines.append(f" if (n > {rng.randint(1, 9)}u) s += f{rng.randrange(number)}(p, n - 1u, s);\n")
        parts += [*lines, " return s;\n}\n"]
    return "".join(parts)


def _jq(folder: Path, times: int) -> list[str]:
    rng = random.Random(7)
    rows = ",\n".join(f'{{"id": {i}, "name": "{"x" * rng.randint(1, 30)}"}}' for i in range(40000))
    return [_find("jq"), "-c", JQ, *[_write(folder, "rows.json", f"[{rows}]\n")] * times]


MB = 1 << 20
_SHORT = (
    Program("gzip", CPU, lambda d, n: [_find("gzip"), "-9", "-c", *[text(d, 5 * MB)] * n], times=2, long=45),
    Program("bzip2", CPU, lambda d, n: [_find("bzip2"), "-c", *[text(d, 4 * MB)] * n], long=40),
    Program("xz", CPU, lambda d, n: [_find("xz"), "-3", "-T1", "-c", *[text(d, MB)] * n], times=2, long=60),
    Program(
        "perl",
        CPU,
        lambda d, n: [_find("perl"), _write(d, "p.pl", PERL), *[text(d, 2 * MB)] * n],
        times=3,
        long=70,
    ),
    Program(
        "sqlite3", CPU, lambda d, n: [_find("sqlite3"), ":memory:"], stdin=lambda n: SQL * n, times=2, long=40
    ),
    Program(
        "python3",
        CPU,
        lambda d, n: [_find("python3"), "-I", "-S", _write(d, "p.py", PYTHON.replace("TIMES", str(n)))],
        times=2,
        long=40,
    ),
    Program("cc1", CPU, _cc1, long=14),
    Program(
        "sort",
        CPU,
        lambda d, n: [
            *(_find("sort"), "-S", "3G" if n > 1 else "256M", "--parallel=1", "-k2"),
            *[text(d, 24 * MB)] * n,
        ],
        times=2,
        long=18,
    ),
    Program("sha256sum", CPU, lambda d, n: [_find("sha256sum"), *[text(d, 8 * MB)] * 16 * n], long=28),
    Program("awk", CPU, lambda d, n: [_find("awk"), AWK, *[text(d, 8 * MB)] * n], times=2, long=30),
    Program(
        "openssl",
        CPU,
        lambda d, n: [
            *(_find("openssl"), "enc", "-aes-256-ctr", "-pbkdf2", "-iter", str(600000 * n)),
            *("-S", "0011223344556677", "-pass", "pass:benchmark", "-in", text(d, MB)),
        ],
        long=38,
    ),
    Program(
        "bc",
        CPU,
        lambda d, n: [_find("bc"), "-l", "-q"],
        stdin=lambda n: BC.replace("TIMES", str(n)),
        times=3,
        long=350,
    ),
    Program("jq", CPU, _jq, long=35),
)
CORNERS_FOLDER = SOURCES / "benchmarks" / "corners"


def corner_names() -> list[str]:
    """What is in the tables of the sources."""
    texts = [path.read_text() for path in sorted(CORNERS_FOLDER.glob("*.c*"))]
    return [name for text in texts for name in re.findall(r'\{"([a-z0-9-]+)", \d+, \w+\}', text)]


def _corner(name: str) -> Program:
    def make(folder: Path, times: int) -> list[str]:
        program = folder / "corners.program"
        if not program.exists():
            objects = [folder / f"{path.name}.o" for path in CORNERS_FOLDER.glob("*.c*")]
            for target in objects:
                source = CORNERS_FOLDER / target.name.removesuffix(".o")
                subprocess.run(
                    [
                        _find("g++" if source.suffix == ".cc" else "gcc"),
                        "-O2",
                        "-g",
                        "-c",
                        source,
                        "-o",
                        target,
                    ],
                    check=True,
                )
            subprocess.run([_find("g++"), *objects, "-pthread", "-ldl", "-o", program], check=True)
        return [str(program), name]

    options = "--error-limit=no"
    environment = {"LC_ALL": "C", "INTERPOSE_OPTS": options, "VALGRIND_OPTS": options}
    return Program(name, CORNERS, make, environment=environment)


PROGRAMS = (
    *_SHORT,
    Program("true", START, lambda d, n: ["/bin/true"]),
    Program("ls", START, lambda d, n: ["/bin/ls", "-l", "/usr/bin"]),
    Program("perl-e", START, lambda d, n: [_find("perl"), "-e", "print 1"]),
    Program("python3-c", START, lambda d, n: [_find("python3"), "-I", "-S", "-c", "print(1)"]),
    Program("threads-1", THREADS, _threads),
    Program("threads-2", THREADS, _threads, times=2),
    Program("block-300M", MEMORY, lambda d, n: _blocks(d, 1, 300 * MB)),
    Program("blocks-1K", MEMORY, lambda d, n: _blocks(d, 100_000, 1024)),
    Program("blocks-48", MEMORY, lambda d, n: _blocks(d, 1_000_000, 48)),
    *map(_corner, corner_names()),
    *(replace(p, name=f"{p.name}-10s", kind=LONG, times=p.long) for p in _SHORT),
)


STDIN = "stdin"
"""Name of the file in the folder that becomes standard input."""


def make(program: Program, folder: Path) -> list[str]:
    """Make the data of a program and return its command; raises :class:`UnavailableError`."""
    command = program.make(folder, program.times)
    if program.stdin:
        _write(folder, STDIN, program.stdin(program.times))
    if not shutil.which(command[0]):
        raise UnavailableError(f"{command[0]} cannot be executed")
    return command
