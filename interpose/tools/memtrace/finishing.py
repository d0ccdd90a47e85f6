"""From what a program has recorded to the final trace (finish/finish.h does the work, one thread a file).

A trace's folder has ``raw/records.bin`` (memtrace_abi.h) and ``raw/run.json``, what else there is to know;
finishing adds ``trace/``, with a file for each thread and the schedules.
"""

from __future__ import annotations

import contextlib
import gzip
import json
import mmap
import os
import random
import struct

from interpose.errors import InterposeError
from interpose.formats.drmemtrace.schedules import BY_CPU, Slice, packed, write_by_cpu
from interpose.formats.drmemtrace.sinks import sink_for
from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

RECORDS = "records.bin"
RUN = "run.json"
SUFFIXES = {"zip": ".trace.zip", "gz": ".trace.gz", "raw": ".trace"}
LEVEL = 1
_CHUNK = "chunk.{:08}"
_CAPACITY = 1 << 20
_ENTRY = 12
_EXIT = struct.Struct("<HHQHHQ")
Time = tuple[int, int, int, int]
"""Time, thread, CPU, instructions before."""


class FinishError(InterposeError):
    """A trace cannot be finished."""


class NothingRecordedError(FinishError):
    """There is no record to make a trace of."""


class Run:
    """What the supervisor knows of a run, kept beside the records."""

    def __init__(self, app: str, pid: int, form: str = "zip", chunk: int = 10_000_000) -> None:
        self.app = app
        self.pid = pid
        self.form = form
        self.chunk = chunk
        self.functions: list[tuple[int, int, int, bool]] = []
        """Entry, id, arguments, no return; the number that templates have is the place here + 1."""
        self.syscalls: dict[int, int] = {}

    def save(self, folder: str) -> None:
        """Write it to a trace's folder."""
        data = {**vars(self), "syscalls": list(self.syscalls.items())}
        path = os.path.join(folder, "raw", RUN)
        try:
            with open(path + ".new", "w", encoding="utf-8", errors="surrogateescape") as file:
                json.dump(data, file)
            os.replace(path + ".new", path)
        except OSError:
            with contextlib.suppress(OSError):
                os.unlink(path + ".new")
            raise

    @classmethod
    def load(cls, folder: str) -> Run:
        """Read it; a :class:`FinishError` if that is not what is there."""
        path = os.path.join(folder, "raw", RUN)
        try:
            with open(path, encoding="utf-8", errors="surrogateescape") as file:
                data = json.load(file)
            run = cls(str(data["app"]), int(data["pid"]), str(data["form"]), int(data["chunk"]))
            run.functions = [
                (int(entry), int(number), int(count), bool(noret))
                for entry, number, count, noret in data["functions"]
            ]
            run.syscalls = {int(number): int(count) for number, count in data["syscalls"]}
        except OSError as error:
            raise FinishError(f"{path}: {error.strerror}") from None
        except (ValueError, KeyError, TypeError) as error:
            raise FinishError(f"{path}: not what memtrace writes ({error})") from None
        if run.form not in SUFFIXES or not 0 < run.chunk < 1 << 60 or "/" in run.app:
            raise FinishError(f"{path}: not what memtrace writes")
        return run


class Result:
    """What finishing has made.

    :ivar instructions: number of instructions in all files.
    :ivar records: the same of records.
    :ivar files: the trace files.
    :ivar notes: what is wrong with the records, a line each.
    """

    def __init__(self) -> None:
        self.instructions = 0
        self.records = 0
        self.bytes = 0
        self.files: list[str] = []
        self.notes: list[str] = []


class _Records:
    """The raw file in memory, its frames sorted by thread."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError:
            raise NothingRecordedError(f"{path}: nothing was recorded") from None
        except OSError as error:
            raise FinishError(f"{path}: {error.strerror}") from None
        with contextlib.suppress(AttributeError, OSError):
            self._map.madvise(mmap.MADV_SEQUENTIAL)
        self.data = ffi.from_buffer(self._map)
        size = len(self._map)
        count = lib.ip_mtf_scan(self.data, size, ffi.NULL, 0)
        if count == -2:
            raise FinishError(f"{path}: recorded by another version of interpose, which can finish it")
        if count < 0:
            raise FinishError(f"{path}: not a file of memtrace's records")
        parts = ffi.new("struct ip_mtf_part[]", max(count, 1))
        lib.ip_mtf_scan(self.data, size, parts, count)
        self.threads: dict[int, list[int]] = {}
        templates = []
        for index in range(count):
            part = parts[index]
            if part.tid == 0:
                templates.append(self._map[part.offset : part.offset + part.bytes])
            else:
                self.threads.setdefault(part.number, []).append(index)
        self.templates = b"".join(templates)
        self._parts = parts

    def parts(self, number: int) -> Any:
        """The frames of a thread."""
        chosen = self.threads[number]
        own = ffi.new("struct ip_mtf_part[]", len(chosen))
        for place, index in enumerate(chosen):
            own[place] = self._parts[index]
        return own


class _Thread:
    """One thread's trace."""

    def __init__(self, run: Run, records: _Records, number: int) -> None:
        self._run = run
        self._records = records
        self._parts = records.parts(number)
        self.tid = int(self._parts[0].tid)
        self._state = ffi.new("struct ip_mtf *")
        self._templates = ffi.from_buffer(records.templates)
        functions = [(0, 0, 0, 0), *((entry, id, n, noret) for entry, id, n, noret in run.functions)]
        self._functions = ffi.new("struct ip_mtf_function[]", functions)
        calls = bytearray(b"\xff" * (max(run.syscalls, default=-1) + 1))
        for call, count in run.syscalls.items():
            calls[call] = count
        self._calls = ffi.from_buffer("int8_t[]", calls)
        self.times: list[Time] = []

    def write(self, path: str, shown: str) -> tuple[int, int, str]:
        """Write the file, which errors call ``shown``: instructions, records, and what was wrong."""
        state, run = self._state, self._run
        chunk = run.chunk if run.form == "zip" else 0
        if (
            lib.ip_mtf_open(
                state,
                self._templates,
                len(self._records.templates),
                self._records.data,
                self._parts,
                len(self._parts),
                chunk,
                _CAPACITY,
            )
            != lib.IP_MT_OK
        ):
            raise FinishError("no memory to finish the trace")
        state.functions, state.n_functions = self._functions, len(self._functions)
        state.traced_ids = bool(run.functions)
        state.syscall_args, state.n_syscalls = self._calls, len(self._calls)
        try:
            self._write(path, shown)
            times = state.times
            for one in range(state.n_times):
                self.times.append((times[one].timestamp, self.tid, times[one].cpu, times[one].instruction))
            bad = ffi.string(state.bad).decode() if state.bad != ffi.NULL else ""
            return state.w.instrs, state.w.records, bad
        finally:
            lib.ip_mtf_close(state)

    def _write(self, path: str, shown: str) -> None:
        state = self._state
        out = sink_for(path, LEVEL)
        chunks = 0
        try:
            out.next_member(_CHUNK.format(chunks))
            while (result := lib.ip_mtf_run(state)) != lib.IP_MT_OK:
                if result < 0:
                    raise FinishError(f"{shown}: the trace cannot be written (error {result})")
                data = memoryview(ffi.buffer(state.w.out, state.w.used))
                if result == lib.IP_MT_CHUNK:
                    out.write(data[:-_ENTRY], True)
                    out.write(data[-_ENTRY:])  # the footer, behind which no trace can end
                    chunks += 1
                    out.next_member(_CHUNK.format(chunks))
                else:
                    out.write(data, bool(state.whole))
                lib.ip_mt_taken(ffi.addressof(state, "w"))
            out.write(memoryview(ffi.buffer(state.w.out, state.w.used)))
            out.close()
        except OSError as error:
            end = _EXIT.pack(lib.IP_MT_THREAD_EXIT, 4, self.tid, lib.IP_MT_FOOTER, 0, 0)
            if not out.rescue(end):
                os.unlink(path)
            raise FinishError(f"{shown}: {error.strerror}") from None


def finish(folder: str, *, keep_raw: bool = True, workers: int | None = None) -> Result:
    """Make the final trace of a folder; a :class:`FinishError` if that cannot be, and the records stay.

    It is made in ``trace.new``: there is no ``trace`` that somebody is still writing, or was killed at.
    """
    run = Run.load(folder)
    raw = os.path.join(folder, "raw", RECORDS)
    records = _Records(raw)
    if not records.threads:
        raise NothingRecordedError(f"{raw}: nothing was recorded")
    trace, unfinished = os.path.join(folder, "trace"), os.path.join(folder, "trace.new")
    try:
        _remove(trace)
        _remove(unfinished)
        os.mkdir(unfinished)
        try:
            result = _write(run, records, unfinished, trace, workers)
        finally:  # after an error there are files that were cut back to valid ones
            os.rename(unfinished, trace)
    except OSError as error:
        raise FinishError(f"{error.filename or trace}: {error.strerror}") from None
    result.files = [os.path.join(trace, name) for name in result.files]
    result.notes = [os.path.join(trace, note) for note in result.notes]
    if not keep_raw:
        with contextlib.suppress(OSError):
            os.unlink(raw)
    return result


def _remove(folder: str) -> None:
    """A folder of files, if it is there."""
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)


def _write(run: Run, records: _Records, folder: str, shown: str, workers: int | None) -> Result:
    """All files of a trace; their names, and notes that begin with one, are relative to the folder."""
    result = Result()
    threads = [_Thread(run, records, number) for number in sorted(records.threads)]
    result.files = _names(run, threads)

    def work(index: int) -> tuple[int, int, str]:
        name = result.files[index]
        return threads[index].write(os.path.join(folder, name), os.path.join(shown, name))

    workers = min(len(threads), workers or len(os.sched_getaffinity(0)))
    if workers > 1:
        from concurrent.futures import ThreadPoolExecutor

        with ThreadPoolExecutor(workers) as pool:
            done = list(pool.map(work, range(len(threads))))
    else:
        done = [work(index) for index in range(len(threads))]
    kept = _with_instructions(done)
    for index, name in enumerate(result.files):
        if index not in kept:
            os.unlink(os.path.join(folder, name))
            continue
        instructions, count, bad = done[index]
        result.instructions += instructions
        result.records += count
        result.bytes += os.stat(os.path.join(folder, name)).st_size
        if bad:
            result.notes.append(f"{name}: the trace ends early, for the records are damaged: {bad}")
    result.files = [result.files[index] for index in kept]
    threads = [threads[index] for index in kept]
    _write_schedules(folder, shown, [time for thread in threads for time in thread.times])
    return result


def _with_instructions(done: list[tuple[int, int, str]]) -> list[int]:
    """Which threads have a file.

    Not one that the process's end met before its first instruction was completed: a trace has one at least.
    The only file stays, and what damage has cut.
    """
    kept = [index for index, (instructions, _, bad) in enumerate(done) if instructions or bad]
    return kept or [0]


def _names(run: Run, threads: list[_Thread]) -> list[str]:
    names: list[str] = []
    for thread in threads:
        while True:
            name = f"drmemtrace.{run.app}.{thread.tid:05}.{random.randrange(10000):04}{SUFFIXES[run.form]}"
            if name not in names:
                break
        names.append(name)
    return names


def _write_schedules(folder: str, shown: str, times: list[Time]) -> None:
    times.sort()
    slices = [Slice(tid, timestamp, cpu, instruction) for timestamp, tid, cpu, instruction in times]
    serial, path = os.path.join(folder, "serial_schedule.bin.gz"), os.path.join(folder, BY_CPU)
    try:
        with gzip.open(serial, "wb") as file:
            file.write(packed(slices))
        write_by_cpu(path, slices)
    except OSError as error:
        for name in (serial, path):
            with contextlib.suppress(OSError):
                os.unlink(name)
        raise FinishError(f"{shown}: {error.strerror}") from None
