"""Builds the wrapper library for the MPI library that a compiler driver stands for, once."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator

from interpose import paths
from interpose.elf.errors import ElfError
from interpose.elf.image import Image
from interpose.errors import InterposeError
from interpose.mpi import generate, table

_NAME = "libinterpose-mpi.so"
_FLAGS = tuple(
    "-std=gnu17 -D_GNU_SOURCE -O1 -g -fPIC -fvisibility=hidden -fno-strict-aliasing -fno-lto".split()
)
_UNFINISHED = ".new-"  # beginning of a folder's name while the library is built in it
_PATIENCE = 300  # seconds for one run of the compiler


def library(mpicc: str) -> str:
    """Path of the wrapper library for ``mpicc``; :class:`InterposeError` if it cannot be had."""
    compiler = _Compiler(mpicc)
    sources = _sources()
    header = compiler.preprocessed()
    names = generate.declared(header)
    if "Send" not in names:
        raise InterposeError(f"{mpicc}: its mpi.h declares no MPI_Send that is a C function")
    digest = hashlib.sha256()
    for part in (
        compiler.path,
        header,
        *(f"{name}\0{text}" for name, text in sorted(sources.items())),
        *(_text_of(module.__file__) for module in (generate, table)),
        _text_of(__file__),
        *_headers(),
    ):
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    folder = os.path.join(_cache(), digest.hexdigest()[:32])
    path = os.path.join(folder, _NAME)
    if not os.path.exists(path):
        _build(compiler, sources, names, folder)
    return path


def _build(compiler: _Compiler, sources: dict[str, str], names: dict[str, str], folder: str) -> None:
    """Build into a folder beside the final one, which is there as a whole or not at all."""
    top = os.path.dirname(folder)
    try:
        os.makedirs(top, mode=0o700, exist_ok=True)
        work, lock = _work_folder(top)
    except OSError as error:
        raise InterposeError(f"cannot write into the cache {top}: {error.strerror}") from None
    try:
        functions = table.read(sources.pop("functions.table"))
        for name, text in (
            *sources.items(),
            ("probed.h", generate.probed(names, compiler.library(work))),
            ("functions.c", generate.wrappers(functions, names)),
        ):
            with open(os.path.join(work, name), "w", encoding="utf-8") as file:
                file.write(text)
        files = sorted(name for name in (*sources, "functions.c") if name.endswith(".c"))
        library = ["-shared", f"-Wl,-soname,{_NAME}", "-Wl,--build-id", "-o", _NAME]
        compiler.run([*_FLAGS, f"-I{paths.include()}", *library, *files, "-ldl", "-lpthread"], work)
        try:
            os.rename(work, folder)
        except OSError:
            # Somebody else was as quick: theirs is the same.
            if not os.path.exists(os.path.join(folder, _NAME)):
                raise
    except OSError as error:
        raise InterposeError(f"cannot write into the cache {top}: {error.strerror}") from None
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def _work_folder(top: str) -> tuple[str, int]:
    """A new folder, and a descriptor that locks it while its builder lives; those of killed builds go."""
    with _locked(top):
        for name in os.listdir(top):
            if name.startswith(_UNFINISHED):
                _remove_abandoned(os.path.join(top, name))
        work = tempfile.mkdtemp(prefix=_UNFINISHED, dir=top)
        fd = os.open(work, os.O_RDONLY | os.O_DIRECTORY)
        with contextlib.suppress(OSError):  # some network file systems have no locks
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return work, fd


@contextlib.contextmanager
def _locked(folder: str) -> Iterator[None]:
    """Nobody else looks for abandoned folders while this one's is not locked yet."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)


def _remove_abandoned(folder: str) -> None:
    with contextlib.suppress(OSError):  # somebody builds there, or it cannot be known
        fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        finally:
            os.close(fd)


class _Compiler:
    """The driver of an MPI library's C compiler."""

    def __init__(self, command: str) -> None:
        command = command.strip() or "mpicc"  # a shell's variable that is empty, perhaps
        try:
            words = shlex.split(command)
        except ValueError as error:
            raise InterposeError(f"{command}: {error}") from None
        path = shutil.which(words[0])
        if path is None:
            raise InterposeError(f"{command}: no such compiler; --mpi-wrappers=MPICC names another")
        self.path = os.path.realpath(path)
        self.command = command
        self._words = [path, *words[1:]]

    def run(self, arguments: list[str], folder: str, text: str = "") -> str:
        """Its standard output; :class:`InterposeError` with the first line of what it complains about."""
        try:
            # What is preloaded (this very library, perhaps) is meant for the MPI program.
            environment = {key: value for key, value in os.environ.items() if key != "LD_PRELOAD"}
            done = subprocess.run(
                [*self._words, *arguments],
                cwd=folder,
                input=text,
                capture_output=True,
                text=True,
                errors="surrogateescape",
                timeout=_PATIENCE,
                env=environment,
            )
        except subprocess.TimeoutExpired:
            raise InterposeError(f"{self.command}: did not end within {_PATIENCE} seconds") from None
        except OSError as error:
            raise InterposeError(f"{self.command}: cannot be run: {error.strerror}") from None
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if line.strip()]
            reason = next((line for line in lines if "error" in line), (lines or ["it says nothing"])[0])
            raise InterposeError(f"{self.command}: exit code {done.returncode}: {reason.strip()}")
        return done.stdout

    def preprocessed(self) -> str:
        """``mpi.h`` as the compiler sees it."""
        return self.run(["-E", "-P", "-x", "c", "-"], "/", "#include <mpi.h>\n")

    def library(self, work: str) -> str:
        """Soname of the library that has the functions; empty if it is linked in."""
        with open(os.path.join(work, "probe.c"), "w", encoding="ascii") as file:
            file.write("#include <mpi.h>\nint main(void) { return PMPI_Finalize(); }\n")
        self.run(["-o", "probe", "probe.c"], work)
        try:
            needed = Image.open(os.path.join(work, "probe")).needed
        except ElfError as error:
            raise InterposeError(f"{self.command}: what it links cannot be read: {error}") from None
        for name in needed:
            if re.match(r"lib\w*mpi\w*\.so", name):
                return name
        return ""


def _text_of(path: str | None) -> str:
    assert path is not None
    with open(path, encoding="utf-8") as file:
        return file.read()


def _sources() -> dict[str, str]:
    folder = paths.mpi_sources()
    return {
        name: _text_of(os.path.join(folder, name))
        for name in sorted(os.listdir(folder))
        if name.endswith((".c", ".h", ".table", ".supp"))
    }


def _headers() -> list[str]:
    folder = os.path.join(paths.include(), "interpose")
    return [_text_of(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]


def _cache() -> str:
    """The folder of all builds: in $XDG_CACHE_HOME, else ~/.cache."""
    top = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if not os.path.isabs(top):
        raise InterposeError("no folder for the library: neither XDG_CACHE_HOME nor HOME is an absolute path")
    return os.path.join(top, "interpose", "mpi")
