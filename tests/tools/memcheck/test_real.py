"""Real programs: output and status as native, and no error that the installed Valgrind does not report.

A program that is missing here is skipped; where Valgrind is missing, none of these programs has an error.
"""

from __future__ import annotations

import collections
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from tools.memcheck.guests import PACKAGE, TIMEOUT, valgrind_version

TEXT = "".join(f"{i * 7919 % 20011} {i} k{i % 97} the quick brown fox\n" for i in range(3000))
TREE_C = r"""
#include <stdio.h>
#include <stdlib.h>
struct n { struct n *l, *r; int k; };
static struct n *ins(struct n *t, int k) {
    if (!t) { t = calloc(1, sizeof *t); t->k = k; return t; }
    if (k < t->k) t->l = ins(t->l, k); else t->r = ins(t->r, k);
    return t;
}
static long sum(struct n *t) { return t ? t->k + sum(t->l) + sum(t->r) : 0; }
int main(void) {
    struct n *t = 0;
    for (int i = 0; i < 500; i++) t = ins(t, i * 7919 % 1009);
    printf("%ld\n", sum(t));
}
"""
SQL = (
    "create table a(x integer primary key, y text); create table b(x, z);"
    "with recursive c(n) as (select 1 union all select n+1 from c where n<800)"
    " insert into a select n, 'k'||(n%97) from c;"
    "insert into b select x%50, x*x from a; create index i on b(x);"
    "select a.y, count(*), sum(b.z) from a join b on a.x=b.x group by a.y order by 2 desc, 1 limit 5;"
)
PYTHON = (
    "import json, re, threading, subprocess, zlib\n"
    "d = {str(i): [i, i / 3, None] for i in range(300)}\n"
    "assert json.loads(json.dumps(d)) == d\n"
    "r = []\n"
    "t = [threading.Thread(target=lambda k=k: r.append(k * k)) for k in range(8)]\n"
    "[x.start() for x in t]; [x.join() for x in t]\n"
    "print(sorted(r), len(re.findall(r'\\w+', open('text').read())), zlib.crc32(b'abc'))\n"
    "print(subprocess.run(['echo', 'hi'], capture_output=True).stdout)\n"
)
POOL = (
    "import multiprocessing as m\ndef f(x): return x * x\n"
    "if __name__ == '__main__':\n  with m.Pool(2) as p: print(p.map(f, range(10)))\n"
)
BASH = (
    "for i in 1 2 3; do (echo $((i*i)); x=$(echo a$i | tr a-z A-Z); echo $x) | sed s/A/B/; done;"
    "f() { local r=$1; [ $r -le 1 ] && echo 1 || echo $((r * $(f $((r-1))))); }; f 4; cat <<< here; exit 3"
)
PERL = (
    'my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1..5000; print "$_ ", length $h{$_}, "\\n" for sort keys %h;'
    "my $s = 'abc' x 300; $s =~ s/(b)(c)/$2$1/g; printf \"%s %.3f\\n\", substr($s, 0, 9), 3.14159;"
)
TCL = (
    "proc fib n {expr {$n<2?$n:[fib [expr {$n-1}]]+[fib [expr {$n-2}]]}}\n"
    "puts [fib 12]\nputs [regsub -all {a(.)} banana {<\\1>}]\n"
)


# One that may have its own tests; those of all versions run the same otherwise.
INTERPRETER = getattr(sys, "_base_executable", sys.executable)


@dataclass(frozen=True)
class Case:
    """A command, in a folder with ``text``, ``tree.c`` and what ``prepare`` makes."""

    command: tuple[str, ...]
    prepare: str = ""
    children: bool = False
    by_value: frozenset[str] = frozenset()
    """Errors at places that are reached only for some values of what is undefined."""


CASES = {
    "ls": Case(("ls", "-lR", "/usr/share/perl5")),
    "sort": Case(("sort", "-n", "-k2", "text")),
    "sort-parallel": Case(("sort", "--parallel=2", "text")),
    "grep": Case(("grep", "-rnE", "[0-9]+7 k(1|3).*fox$", ".")),
    "sed": Case(("sed", "-E", "s/([a-z]+) ([a-z]+)/\\2 \\1/g;/^$/d", "text")),
    "mawk": Case(("mawk", "{c[$3]+=$1} END{n=0; for(k in c) n+=c[k]; print n}", "text")),
    "gawk": Case(("gawk", '{c[$3]+=$1} END{n=0; for(k in c) n+=c[k]; print n, toupper("a")}', "text")),
    "find": Case(("find", "/usr/share/perl5", "-name", "*.pm", "-printf", "%p %s\n")),
    "tar-create": Case(("tar", "--mtime=@0", "-cf", "-", "text", "tree.c")),
    "tar-extract": Case(("tar", "xf", "t.tar"), "tar cf t.tar text tree.c"),
    "gzip": Case(("gzip", "-nc", "text")),
    "gunzip": Case(("gzip", "-dc", "t.gz"), "gzip -c text > t.gz"),
    "bzip2": Case(("bzip2", "-c", "text")),
    "xz": Case(("xz", "-T2", "-1", "--block-size=30000", "-c", "text")),
    "zstd": Case(("zstd", "-q", "-T2", "-c", "text")),
    "sha256sum": Case(("sha256sum", "text")),
    "diff": Case(("diff", "text", "tree.c")),
    "perl": Case(("perl", "-e", PERL)),
    "python": Case(("/usr/bin/python3", "-c", PYTHON)),
    "python-pool": Case(("/usr/bin/python3", "pool.py")),
    "sqlite": Case(("sqlite3", ":memory:", SQL)),
    "git-log": Case(("git", "-C", "repo", "log", "--stat"), "@git"),
    "git-fsck": Case(("git", "-C", "repo", "fsck"), "@git"),
    "git-clone": Case(("git", "clone", "-q", "repo", "copy"), "@git; rm -rf copy"),
    "bash": Case(("bash", "-c", BASH)),
    "bash-children": Case(
        ("bash", "-c", "x=$(echo a | tr a b); echo $x | sed s/b/c/; exit 3"), children=True
    ),
    "dash": Case(("dash", "-c", "for i in a b; do echo $i | tr a-b x-y; done; (exit 2); exit 5")),
    "gcc": Case(("gcc", "-O0", "-c", "tree.c", "-o", "tree.o"), children=True),
    "make": Case(
        ("make", "-s", "-f", "Mk"),
        "rm -f made; printf 'all:\\n\\t@cp tree.c made; echo done\\n' > Mk",
        children=True,
    ),
    "make-j2": Case(("make", "-s", "-j2", "-f", "Mk2"), "@make"),
    "make-j2-children": Case(("make", "-s", "-j2", "-f", "Mk2"), "@make", children=True),
    "python-ctypes": Case(
        (INTERPRETER, "-m", "unittest", "-q", "ctypes.test.test_callbacks", "ctypes.test.test_structures"),
        # A callback's result that nobody set becomes a number: a small one is looked up by it.
        by_value=frozenset(
            f"Use of uninitialised value of size 8 at {name}" for name in ("Py_INCREF", "Py_DECREF")
        ),
    ),
    "openssl": Case(
        (
            "openssl",
            "enc",
            "-aes-256-cbc",
            "-k",
            "pw",
            "-S",
            "0102030405060708",
            "-pbkdf2",
            "-in",
            "text",
            "-a",
        )
    ),
    "busybox": Case(("busybox", "sh", "-c", "for i in 1 2; do echo $i | busybox sed s/1/x/; done")),
    "tclsh": Case(("tclsh", "t.tcl")),
}
GIT = (
    "rm -rf repo; git init -q repo; for i in 1 2 3; do cp text repo/f$i; git -C repo add -A;"
    " GIT_AUTHOR_DATE='@1 +0000' GIT_COMMITTER_DATE='@1 +0000'"  # the commits' names depend on them
    " git -C repo -c user.email=a@b -c user.name=x commit -q -m $i; done"
)
# Recipes side by side, and a make below that shares the jobs.
MAKE = (
    "rm -f *.o out; printf '%s\\n' 'all: 1.o 7.o sub; @cat 1.o 7.o >out; wc -c <out'"
    " '%.o: text; @sed -n s/k$*/k/p text >$@' 'sub: ; +@$(MAKE) -s -f Mk2 8.o' '.PHONY: all sub' >Mk2"
)
_KIND = re.compile(
    r"^==\d+== ((?:Invalid|Conditional|Use of|Syscall|Mismatched|Source and|Argument|Jump|realloc).*)"
)
_FRAME = re.compile(r"^==\d+==\s+at 0x[0-9A-F]+: (.*?)(?: \([^()]*\))?$")


def _errors(folder: Path) -> collections.Counter[str]:
    """Kind and function of every error in the logs of a run."""
    found: collections.Counter[str] = collections.Counter()
    for log in folder.iterdir():
        lines = log.read_text(errors="replace").splitlines()
        for line, following in zip(lines, [*lines[1:], ""], strict=True):
            kind, frame = _KIND.match(line), _FRAME.match(following)
            if kind:
                found[f"{kind[1]} at {frame[1] if frame else '?'}"] += 1
    return found


def _environment() -> dict[str, str]:
    return {
        "PATH": os.environ["PATH"],
        "LC_ALL": "C",
        "HOME": "/nonexistent",
        "PYTHONPATH": PACKAGE,
        "PYTHONDONTWRITEBYTECODE": "1",
        "GIT_CONFIG_NOSYSTEM": "1",
    }


def _prepare(folder: Path, case: Case) -> None:
    (folder / "text").write_text(TEXT)
    (folder / "tree.c").write_text(TREE_C)
    (folder / "pool.py").write_text(POOL)
    (folder / "t.tcl").write_text(TCL)
    script = case.prepare.replace("@git", GIT).replace("@make", MAKE)
    if script:
        subprocess.run(["sh", "-c", script], cwd=folder, env=_environment(), check=True, timeout=TIMEOUT)


def _run(command: list[str], folder: Path, case: Case) -> tuple[int, bytes]:
    _prepare(folder, case)
    done = subprocess.run(
        command,
        cwd=folder,
        env=_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        timeout=TIMEOUT,
        check=False,
    )
    return done.returncode, done.stdout


def _tool(tool: list[str], logs: Path, case: Case) -> list[str]:
    logs.mkdir()
    children = ["--trace-children=yes"] if case.children else []
    return [*tool, f"--log-file={logs}/%p", *children, *case.command]


@pytest.mark.parametrize("name", CASES)
def test_as_native(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    if shutil.which(case.command[0]) is None or ("@git" in case.prepare and shutil.which("git") is None):
        pytest.skip(f"{case.command[0]} is not installed")
    work = tmp_path / "work"
    work.mkdir()
    native = _run(list(case.command), work, case)
    ours = _run(
        _tool([sys.executable, "-m", "interpose", "--tool=memcheck"], tmp_path / "ours", case), work, case
    )
    assert ours == native
    errors = _errors(tmp_path / "ours")
    if not errors:
        return
    assert valgrind_version() is not None, errors
    _run(_tool(["valgrind", "--tool=memcheck"], tmp_path / "theirs", case), work, case)
    assert set(errors) <= set(_errors(tmp_path / "theirs")) | case.by_value, errors


def test_logs_of_a_forking_shell(tmp_path: Path) -> None:
    """A log for each process: with its parent, with a summary unless it became another program."""
    logs = tmp_path / "logs"
    case = Case(("dash", "-c", "(exit 3); (exit 4); (exec /bin/true); echo $$"))
    if shutil.which("dash") is None:
        pytest.skip("dash is not installed")
    work = tmp_path / "work"
    work.mkdir()
    status, output = _run(
        _tool([sys.executable, "-m", "interpose", "--tool=memcheck"], logs, case), work, case
    )
    shell = output.decode().strip()
    assert status == 0
    texts = {log.name: log.read_text() for log in logs.iterdir()}
    assert len(texts) == 4 and shell in texts
    children = [text for pid, text in texts.items() if pid != shell]
    assert all(f"Parent PID: {shell}\n" in text for text in children)
    assert sorted("HEAP SUMMARY" in text for text in children) == [False, True, True]
    assert all("0 allocs" not in text for text in texts.values())
