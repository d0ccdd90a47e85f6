"""Builds and runs the programs of tests/guests/memcheck, and brings reports into a form that can be compared.

A program's source says in comments how it is built and run:

    @build: compiler arguments, after those that all have; @OUT@ is the program to be made
    @compiler: the compiler, when it is not gcc or g++
    @library: a source beside it, in lib/, of a shared library that is made first: libNAME.so
    @options: options of the tool; @DIR@ is the folder of the sources
    @ours: options for interpose alone, which the installed Valgrind does not know; @PROTOCOL@: of its XML
    @arguments: of the program
    @environment: NAME=value
    @shows: files that the run writes into its folder, compared with the report

Run as a script with Valgrind installed, it stores what Valgrind reports, for machines without it:

    PYTHONPATH=.:tests python tests/tools/memcheck/guests.py --update [names]
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from report.xml_normal import normalised

import interpose

ROOT = Path(__file__).resolve().parents[3]
SOURCES = ROOT / "tests" / "guests" / "memcheck"
EXPECTATIONS = SOURCES / "expect"
TIMEOUT = 120
PACKAGE = str(Path(interpose.__file__).resolve().parents[1])
"""Where the package under test is, installed or not."""

_COMPILERS = {".c": ("gcc", "-std=gnu17"), ".cpp": ("g++", "-std=c++20")}
_FLAGS = ("-g", "-O0", "-w")


@dataclass(frozen=True)
class Guest:
    """One program."""

    source: Path

    @property
    def name(self) -> str:
        return self.source.stem

    def directive(self, word: str) -> list[str]:
        """The words behind ``@word:`` in the source's comments."""
        text = self.source.read_text()
        found = re.findall(rf"@{word}:(.*?)(?:\*/)?$", text, re.MULTILINE)
        return [part.replace("@DIR@", str(SOURCES)) for line in found for part in line.split()]

    @property
    def options(self) -> list[str]:
        """Options for either tool."""
        return self.directive("options")

    @property
    def own_options(self) -> list[str]:
        """Options for interpose alone."""
        return [part.replace("@PROTOCOL@", xml_protocol()) for part in self.directive("ours")]

    def missing(self) -> str | None:
        """A compiler or linker that it needs and this machine lacks."""
        linkers = [part.removeprefix("-fuse-ld=") for part in self.directive("build") if "-fuse-ld=" in part]
        needed = [*self.directive("compiler"), *(f"ld.{name}" for name in linkers)]
        return next((name for name in needed if shutil.which(name) is None), None)

    def build(self, folder: Path) -> Path:
        """Compile it, once for a folder."""
        program = folder / self.name
        if not program.exists():
            compiler, standard = _COMPILERS[self.source.suffix]
            compiler = " ".join(self.directive("compiler")) or compiler
            flags = [compiler, standard, *_FLAGS, f"-I{ROOT / 'include'}"]
            for library in self.directive("library"):
                made = folder / f"lib{Path(library).stem}.so"
                source = SOURCES / "lib" / library
                line = [*flags, "-shared", "-fPIC", "-o", str(made), str(source)]
                subprocess.run(line, check=True, timeout=TIMEOUT)
            more = [part.replace("@OUT@", str(folder)) for part in self.directive("build")]
            command = [*flags, "-o", str(program), str(self.source), *more]
            subprocess.run(command, check=True, timeout=TIMEOUT)
        return program

    def valgrind_command(self) -> list[str]:
        return ["valgrind", "--tool=memcheck", *self.options]

    def our_command(self) -> list[str]:
        """Ours; without origins, which only ours has by default."""
        tool = [sys.executable, "-m", "interpose", "--tool=memcheck", "--track-origins=no"]
        return [*tool, *self.options, *self.own_options]

    def run(self, command: list[str], folder: Path) -> Outcome:
        """Run it under a tool, its files in a folder."""
        return run(command, self.build(folder), self)


def all_guests() -> list[Guest]:
    """Every program, by name."""
    return [Guest(path) for path in sorted(SOURCES.iterdir()) if path.suffix in _COMPILERS]


@cache
def valgrind_version() -> str | None:
    """The installed Valgrind's version, None without one."""
    if shutil.which("valgrind") is None:
        return None
    done = subprocess.run(["valgrind", "--version"], capture_output=True, text=True, check=False)
    return done.stdout.strip() or None


REFERENCE = "valgrind-3.19.0"
"""What the stored expectations are of, and differences.py speaks of."""
NEWER_VERSION = "valgrind-3.27.1"
"""Beside it, what the reports may be compared with."""
VERSIONS = (REFERENCE, NEWER_VERSION)


def xml_protocol() -> str:
    """Of the XML of the Valgrind that is compared with."""
    return "6" if valgrind_version() == NEWER_VERSION else "4"


@dataclass(frozen=True)
class Outcome:
    """What a run showed."""

    status: int
    output: str
    report: str

    def text(self) -> str:
        """Everything that is compared, as stored."""
        return f"status {self.status}\n{self.output}----\n{self.report}"


def run(command: list[str], program: Path, guest: Guest | None = None) -> Outcome:
    """Run a program under a tool, as its source says."""
    arguments, shown = (guest.directive(word) if guest else [] for word in ("arguments", "shows"))
    for name in shown:
        (program.parent / name).unlink(missing_ok=True)
    log = program.parent / f"{program.name}.{Path(command[0]).name}.log"
    log.unlink(missing_ok=True)
    # The same for both, and small: programs allocate by it.
    environment = {"PATH": os.environ["PATH"], "LC_ALL": "C", "PYTHONPATH": PACKAGE}
    environment.update(item.split("=", 1) for item in (guest.directive("environment") if guest else []))
    done = subprocess.run(
        [*command, f"--log-file={log}", str(program), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        env=environment,
        cwd=program.parent,
        timeout=TIMEOUT,
        check=False,
    )
    report = normalise(log.read_text(errors="replace")) if log.exists() else ""
    report = report.replace(str(program.parent), "@HERE@")
    for name in shown:
        report += f"---- {name}\n{_file(program.parent / name)}"
    return Outcome(done.returncode, done.stdout + done.stderr, report)


def report_of(command: list[str], program: Path, *arguments: str) -> str:
    """What a run says on stderr, without the numbers of processes; it writes no output and ends with 0."""
    done = subprocess.run(
        [*command, str(program), *arguments],
        capture_output=True,
        text=True,
        cwd=program.parent,
        env={"PATH": "/usr/bin:/bin", "PYTHONPATH": PACKAGE},
        timeout=TIMEOUT,
        check=False,
    )
    assert not done.stdout and not done.returncode
    return re.sub(r"^==\d+== ?", "", done.stderr, flags=re.M)


def _file(path: Path) -> str:
    """What a run wrote, without what differs between two runs."""
    if not path.exists():
        return "(none)\n"
    text = path.read_text(errors="replace")
    if path.suffix == ".xml":
        return normalised(text) + "\n"
    text = re.sub(r"^cmd: .*\n|^pid: .*\n", "", text, flags=re.M)
    return normalise(text)


_PREFIX = re.compile(r"^(?:(==)|(--)|(\*\*))(?:[\d:]+\.\d+ )?\d+(?:==|--|\*\*) ?", re.MULTILINE)
_SMALL = 0x100000
"""Addresses below are the program's own choice and compared."""


def _prefix(match: re.Match[str]) -> str:
    return "" if match[1] else "-- " if match[2] else "** "


def _address(text: str) -> str:
    return text if int(text, 16) < _SMALL else "0x.."


def _frame_address(match: re.Match[str]) -> str:
    """Kept only of a place where no code is."""
    nowhere = match.string.startswith("???\n", match.end())
    return f"{match[1]} {_address(match[2])}: " if nowhere else f"{match[1]}: "


def normalise(report: str) -> str:
    """A report without banner, process numbers, addresses, and the names of the tool's own files."""
    text = _PREFIX.sub(_prefix, report)
    text = re.sub(r"\AMemcheck, a memory error detector\n.*?^\n", "", text, count=1, flags=re.M | re.S)
    text = re.sub(r"^( +(?:at|by)) (0x[0-9A-F]+): ", _frame_address, text, flags=re.M)
    ours = r"(?:\S*/)?(?:heap|strings|wide|core|environment)_stubs\.c:\d+"
    theirs = r"in \S*/vgpreload_\S+|(?:\S*/)?vg_replace_\w+\.c:\d+"  # with its debug information
    text = re.sub(rf"(?:\+\d+)? \((?:{theirs}|{ours})\)", " (replacement)", text)
    text = re.sub(r"\(in (?:/\S*)?/([^/\s]+)\)", r"(in \1)", text)
    text = re.sub(r"\b(obj:|mapped file )(?:/\S*)?/", r"\1", text)
    text = re.sub(r"^(-- used_suppression: .* )/\S*/", r"\1", text, flags=re.M)
    text = re.sub(r"(to suppress, use: --max-stackframe=)\d+", r"\1N", text)  # where mappings lie
    text = re.sub(
        r"[\d,]+( bytes inside an unallocated block of size )[\d,]+", r"N\1N", text
    )  # each heap's own
    text = re.sub(r"^(Mempool chunk .* \[)[0-9a-f]+,[0-9a-f]+(\),)", r"\1..\2", text, flags=re.M)
    # clone3 is passed on, and named clone as in Valgrind, which makes the C library use clone.
    text = re.sub(r"\bclone \(clone3?\.S:\d+\)", "clone (clone.S)", text)
    return re.sub(r"0x[0-9a-fA-F]+", lambda m: _address(m[0]), text)


def without_library_lines(text: str, source: str) -> str:
    """Only frames in the program's own source keep their line: libraries differ between machines."""

    def place(match: re.Match[str]) -> str:
        return match[0] if match[1] == source else "(library)"

    return re.sub(r"\(([\w.+-]+):\d+\)|\(in [^)]*\)", place, text)


def expectation(guest: Guest) -> Path:
    """Where a stored expectation is."""
    return EXPECTATIONS / f"{guest.name}.expect"


def update(names: list[str]) -> None:
    """Store what the installed Valgrind reports."""
    import tempfile

    EXPECTATIONS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        for guest in all_guests():
            if names and guest.name not in names:
                continue
            outcome = guest.run(guest.valgrind_command(), Path(folder))
            expectation(guest).write_text(outcome.text())


if __name__ == "__main__":
    if sys.argv[1:2] != ["--update"] or valgrind_version() is None:
        sys.exit("usage: guests.py --update [names], with valgrind installed")
    update(sys.argv[2:])
