"""Real software under ``none``: output and exit code as native."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TIMEOUT = 300
OURS = [sys.executable, "-m", "interpose", "--tool=none", "-q"]
TRACED = [*OURS, "--trace-children=yes"]
PYTHON = "/usr/bin/python3"

SCRIPT = """
set -e
mkdir -p tree/{a,b}/{c,d}; for i in $(seq 40); do echo "line $i of $RANDOM" > tree/a/c/f$i; done
find tree -type f | sort | head -5
cat tree/a/c/f* | awk '{ n[$1] += $2 } END { for (k in n) print k, n[k] }'
ls tree/a | while read -r name; do printf '%s,' "$name"; done; echo
x=$(printf '%s\\n' c b a | sort | tr -d '\\n'); echo "$x ${#x}"
( exit 3 ) || echo "status $?"
diff <(seq 3) <(seq 4) || true
"""
PERL = r"""
my %h; $h{$_ % 97} .= chr(65 + $_ % 26) for 1 .. 20000;
my $s = join ",", map { "$_=" . length $h{$_} } sort { $a <=> $b } keys %h;
$s =~ s/(\d+)=(\d+)/$1 * $2/ge; print "$s\n"; printf "%.10f\n", atan2(1, 3) * exp(2);
print join(" ", sort { $b cmp $a } split //, "the quick brown fox"), "\n"; print `echo from a child`;
"""
SQL = """
create table t(a integer primary key, b text, c real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 5000)
insert into t select i, 'text ' || (i * 7919 % 1000), i / 7.0 from n;
create index x on t(b);
select b, count(*), round(sum(c), 6) from t group by b order by 2 desc, 1 limit 10;
select count(*) from t as p join t as q on p.b = q.b where p.a < q.a;
"""
NODE = """
function fib(n) { return n < 2 ? n : fib(n - 1) + fib(n - 2) }
const o = []; for (let i = 0; i < 30000; i++) o.push({ i, s: String(i * 7) });
console.log(fib(22), o.filter(x => x.s.includes('77')).length, JSON.stringify(o).length);
console.log([1, 2, 3].map(x => x * 1.5), new Map([[1, 'a']]), /(\\d+)-(\\w+)/.exec('12-ab').slice());
let h = 0; for (let i = 0; i < 2e6; i++) h = (h * 31 + (i ^ (h >>> 3))) | 0; console.log(h);
Promise.all([1, 2].map(async x => x * 2)).then(v => console.log(v));
"""
CODE = '#include <stdio.h>\nint f(int);\nint main(void) { printf("%d\\n", f(6)); return 3; }\n'
MAKEFILE = "prog: a.o b.o\n\t$(CC) -o $@ $^\n%.o: %.c\n\t$(CC) -O2 -c -o $@ $<\n"
# Objects without debug information: they do not name their folder.
CMAKE = """
cmake_minimum_required(VERSION 3.13)
project(words CXX)
add_library(words STATIC words.cpp)
add_executable(tool main.cpp)
target_link_libraries(tool words)
enable_testing()
add_test(NAME tool COMMAND tool a b a)
"""
WORDS = """
#include <map>
#include <stdexcept>
#include <string>
std::map<std::string, int> count(char **words) {
    std::map<std::string, int> m;
    if (!*words) throw std::invalid_argument("no words");
    for (; *words; words++) ++m[*words];
    return m;
}
"""
MAIN = """
#include <map>
#include <string>
std::map<std::string, int> count(char **words);
int main(int, char **argv) { return count(argv + 1)["a"] != 2; }
"""


def need(program: str) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not installed")


def run(command: list[str], folder: Path, feed: bytes | None = None) -> tuple[int, bytes, bytes]:
    environ = {**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONPATH": os.environ.get("PYTHONPATH", "")}
    done = subprocess.run(
        command, cwd=folder, input=feed or b"", capture_output=True, timeout=TIMEOUT, env=environ
    )
    return done.returncode, done.stdout, done.stderr


def same(command: list[str], folder: Path, feed: bytes | None = None, ours: list[str] = OURS) -> bytes:
    """Run the command both ways; its output."""
    need(command[0])
    native = run(command, folder, feed)
    got = run([*ours, *command], folder, feed)
    assert got[1] == native[1], got[2].decode(errors="replace")
    assert got[0] == native[0], got[2].decode(errors="replace")
    return native[1]


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a few files to work on."""
    folder = tmp_path_factory.mktemp("real")
    lines = [f"{i * 7919 % 10007} word{i % 83} {'x' * (i % 60)} {i / 3:.4f}" for i in range(20000)]
    (folder / "text").write_text("\n".join(lines) + "\n")
    (folder / "script").write_text(SCRIPT)
    (folder / "query.sql").write_text(SQL)
    return folder


@pytest.mark.parametrize(
    "line",
    [
        "ls -lR /usr/include/linux",
        "sort -n text",
        "sort -k2,2 -k1nr text",
        "grep -nE word(1|7)[0-9].*x{20,} text",
        "sed -E s/([0-9]+)\\.([0-9]+)/\\2,\\1/g;/word5/d text",
        "awk {n[$2]+=$1;l+=length($0)}END{for(k\\ in\\ n)print\\ k,n[k];print\\ l} text",
        "find /usr/include -name *.h -size +20k -printf %f\\ %s\\n",
        "tar -cf - --sort=name --mtime=@0 text script",
        "gzip -9nc text",
        "bzip2 -c text",
        "xz -T2 -c text",
        "zstd -T2 -q -c text",
        "sha256sum text script",
        "wc text",
        "busybox sha1sum text",
        "busybox awk {s+=$1}END{print\\ s} text",
        "openssl dgst -sha3-512 text",
        "openssl enc -aes-256-ctr -K 00 -iv 00 -in text",
        "git --version",
        "gdb -batch -ex p\\ 6*7 -ex info\\ line\\ main /bin/true",
        "tclsh /dev/stdin",
        "file /bin/true",
    ],
)
def test_command(text: Path, line: str) -> None:
    feed = b"puts [expr {6 * 7}]; puts [lsort -integer {5 3 9}]\n" if line.startswith("tclsh") else None
    assert same(shlex.split(line), text, feed)


def test_round_trips(text: Path) -> None:
    """What is packed under none is unpacked under none."""
    original = (text / "text").read_bytes()
    for tool in ("gzip", "bzip2", "xz", "zstd"):
        need(tool)
        status, packed, _ = run([*OURS, tool, "-c", "text"], text)
        assert status == 0
        assert run([*OURS, tool, "-dc"], text, packed)[1] == original, tool


def test_shell_script(tmp_path: Path) -> None:
    (tmp_path / "script").write_text(SCRIPT.replace("$RANDOM", "5"))
    need("bash")
    native = run(["bash", "script"], tmp_path)
    for ours in (OURS, TRACED):
        shutil.rmtree(tmp_path / "tree")
        got = run([*ours, "bash", "script"], tmp_path)
        assert (got[0], got[1]) == native[:2], got[2].decode(errors="replace")


def test_perl(tmp_path: Path) -> None:
    (tmp_path / "s.pl").write_text(PERL)
    same(["perl", "s.pl"], tmp_path)


def test_sqlite(text: Path) -> None:
    same(["sqlite3", ":memory:"], text, SQL.encode())


def test_node(tmp_path: Path) -> None:
    (tmp_path / "s.js").write_text(NODE)
    same(["node", "s.js"], tmp_path)


def test_java(tmp_path: Path) -> None:
    need("java")
    if b"javac" not in run(["sh", "-c", "command -v javac"], tmp_path)[1]:
        pytest.skip("javac is not installed")
    (tmp_path / "T.java").write_text(
        "public class T { public static void main(String[] a) {"
        " long h = 7; StringBuilder s = new StringBuilder();"
        " for (int i = 0; i < 3000000; i++) {"
        "   h = h * 31 + (i ^ (h >>> 5)); if (i % 100000 == 0) s.append(h % 10); }"
        ' try { Object o = null; o.hashCode(); } catch (NullPointerException e) { s.append(" npe"); }'
        ' System.out.println(h + " " + s); System.exit(5); } }'
    )
    assert run(["javac", "T.java"], tmp_path)[0] == 0
    same(["java", "-cp", ".", "T"], tmp_path)


@pytest.mark.parametrize(
    ("words", "ours"),
    [
        (["test_json"], OURS),
        (["test_re"], OURS),
        (["test_threading"], OURS),
        (["test_mmap"], OURS),
        (["test_ctypes"], OURS),
        (["test_signal", "-m", "*Pending*", "-m", "*Wakeup*"], OURS),
        (["test_faulthandler", "-m", "test_s[it]*", "-m", "test_fatal_error_c_thread"], TRACED),
        (["test_subprocess", "-m", "test_pass_fds*"], TRACED),
    ],
    ids=lambda value: value[0] if value[0].startswith("test_") else "",
)
def test_python_suite(tmp_path: Path, words: list[str], ours: list[str]) -> None:
    """CPython's own tests, by the interpreter that has them; all of them: tests/suites."""
    for python in (PYTHON, getattr(sys, "_base_executable", sys.executable)):
        if run([python, "-c", f"import test.{words[0]}"], tmp_path)[0] == 0:
            break
    else:
        pytest.skip("no Python with its test package")
    # Fails natively where a .pth file of the installation imports threading.
    command = [python, "-m", "test", *words, "-i", "test_import_from_another_thread"]
    if run(command, tmp_path)[0] != 0:
        pytest.skip("fails natively")
    status, output, errors = run([*ours, *command], tmp_path)
    assert status == 0, (output + errors).decode(errors="replace")[-3000:]


def test_git(tmp_path: Path) -> None:
    need("git")
    identity = ["-c", "user.name=n", "-c", "user.email=e", "-c", "commit.gpgsign=false"]
    for ours in (OURS, TRACED):
        folder = tmp_path / str(len(ours))
        folder.mkdir()
        for words in (
            ["init", "-q"],
            ["add", "."],
            ["commit", "-qm", "one"],
            ["gc", "-q"],
            ["fsck", "--strict"],
        ):
            (folder / "file").write_text("text\n" * 500)
            status, _, errors = run([*ours, "git", *identity, *words], folder)
            assert status == 0, errors.decode(errors="replace")
        same(["git", "log", "-p", "--stat"], folder, ours=ours)


def test_gcc(tmp_path: Path) -> None:
    """gcc and all its children traced: the same object file."""
    (tmp_path / "b.c").write_text(
        "int f(int n) { int s = 0; for (int i = 0; i < n; i++) s += i * i; return s; }\n"
    )
    assert run(["gcc", "-O2", "-c", "-o", "native.o", "b.c"], tmp_path)[0] == 0
    status, _, errors = run([*TRACED, "gcc", "-O2", "-c", "-o", "ours.o", "b.c"], tmp_path)
    assert status == 0, errors.decode(errors="replace")
    assert (tmp_path / "native.o").read_bytes() == (tmp_path / "ours.o").read_bytes()


def test_make(tmp_path: Path) -> None:
    need("make")
    (tmp_path / "Makefile").write_text(MAKEFILE)
    (tmp_path / "a.c").write_text(CODE)
    (tmp_path / "b.c").write_text("int f(int n) { return n * 7; }\n")
    status, _, errors = run([*TRACED, "make", "-j2"], tmp_path)
    assert status == 0, errors.decode(errors="replace")
    assert run([str(tmp_path / "prog")], tmp_path)[:2] == (3, b"42\n")


@pytest.mark.parametrize("ours", [OURS, TRACED], ids=["alone", "children"])
def test_cmake(tmp_path: Path, ours: list[str]) -> None:
    """A C++ project configured, built and tested: the same files as natively."""
    need("cmake")
    source, made = tmp_path / "source", {}
    source.mkdir()
    (source / "CMakeLists.txt").write_text(CMAKE)
    (source / "words.cpp").write_text(WORDS)
    (source / "main.cpp").write_text(MAIN)
    for name, tool in (("native", []), ("ours", ours)):
        folder = tmp_path / name / "build"
        folder.mkdir(parents=True)
        for words in (["cmake", "-S", "../../source"], ["cmake", "--build", ".", "-j2"], ["ctest"]):
            # The compilers' children that configuring starts are a minute's work of a busy machine.
            alone = tool is TRACED and words[1:2] == ["-S"]
            status, output, errors = run([*(OURS if alone else tool), *words], folder)
            assert status == 0, (output + errors).decode(errors="replace")
        made[name] = (folder / "libwords.a").read_bytes(), (folder / "tool").read_bytes()
    assert made["ours"] == made["native"]


def test_openssl_speed(tmp_path: Path) -> None:
    """All code paths of several ciphers run; the figures differ of course."""
    need("openssl")
    command = ["openssl", "speed", "-seconds", "1", "-bytes", "1024", "aes-256-cbc", "sha512", "md5", "ghash"]
    status, output, errors = run([*OURS, *command], tmp_path)
    assert status == 0 and b"ghash" in output, errors.decode(errors="replace")
