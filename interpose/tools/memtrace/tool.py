"""Memtrace's part beside the program: the folders of traces, the functions to mark, finishing."""

from __future__ import annotations

import os

from interpose.errors import InterposeError
from interpose.jit._native import ffi, lib
from interpose.tools.base import BaseTool
from interpose.tools.memtrace.options import functions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.options.parse import Config
    from interpose.supervisor.files import KnownFile
    from interpose.supervisor.main import Supervisor
    from interpose.tools.memtrace.finishing import Run

MOST_TRIES = 100


def _give_to_user_of(pid: int, fd: int) -> None:
    """Let a process that has changed its user before it forked write the file."""
    with open(f"/proc/{pid}/status", "rb") as status:
        [uids] = (line.split() for line in status if line.startswith(b"Uid:"))
    user = int(uids[4])  # by which files are opened
    if user != os.geteuid():
        os.fchown(fd, user, -1)


class Tool(BaseTool):
    """One folder for each program that a process runs."""

    def __init__(self, supervisor: Supervisor) -> None:
        super().__init__(supervisor)
        self._header: Any = supervisor.client.header
        self._folder = ""
        self._owner = 0
        """The process that finishes: a copy of it for a vfork child's end leaves the folder alone."""
        self._run: Run | None = None
        self._listed: list[str] = []
        self._specs = functions(self.config)

    @classmethod
    def check(cls, config: Config) -> None:
        """Nothing but the folder, which is made when the program starts."""

    def started(self) -> None:
        super().started()
        if not self._folder:
            self._begin()

    def forked(self) -> None:
        self._header = self.supervisor.client.header
        functions_before, listed = (self._run.functions if self._run else []), self._listed
        self._begin(functions_before, listed)
        super().forked()

    # -- the folder ----------------------------------------------------------------------------

    def _begin(
        self, known: list[tuple[int, int, int, bool]] | None = None, listed: list[str] | None = None
    ) -> None:
        from interpose.tools.memtrace.finishing import RECORDS, Run

        options, client = self.config.tool, self.supervisor.client
        app = os.path.basename(os.fsdecode(ffi.string(client.header.prog))) or "program"
        folder = self._make_folder(options.memtrace_dir, app, client.pid)
        self._folder, self._owner = folder, os.getpid()
        if not folder:
            return
        self._run = Run(app, client.pid, options.memtrace_format, options.chunk_instr_count)
        self._run.functions = list(known or ())
        self._run.syscalls = dict(options.record_syscall)
        self._listed = list(listed or ())
        try:
            self._save()
            path = os.path.join(folder, "raw", RECORDS)
            fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
            try:
                _give_to_user_of(client.pid, fd)
            finally:
                os.close(fd)
        except OSError as error:
            self._give_up(error)
            return
        header = client.header
        for word, value in (
            (lib.IP_MTR_AFTER, options.trace_after_instrs),
            (lib.IP_MTR_FOR, options.trace_for_instrs),
            (lib.IP_MTR_EVERY, options.retrace_every_instrs),
            (lib.IP_MTR_MOST, options.max_trace_size),
            (lib.IP_MTR_ONLY, options.only_thread),
            (lib.IP_MTR_FAILED, 0),
        ):
            header.tool[word] = value
        data = os.fsencode(path) + b"\0"
        if len(data) <= len(header.tool_path):
            ffi.memmove(header.tool_path, data, len(data))
        else:
            self._give_up(OSError(0, "the name is too long", path))

    def _make_folder(self, parent: str, app: str, pid: int) -> str:
        for _ in range(MOST_TRIES):
            name = f"drmemtrace.{app}.{pid:05}.{int.from_bytes(os.urandom(4), 'little') % 10000:04}.dir"
            folder = os.path.join(parent, name)
            try:
                os.makedirs(folder)
                for inner in ("raw", "aux"):
                    os.mkdir(os.path.join(folder, inner))
            except FileExistsError:
                continue
            except OSError as error:
                self._give_up(error)
                return ""
            return folder
        self._give_up(OSError(0, "no free name for a folder", parent))
        return ""

    def _give_up(self, error: OSError) -> None:
        where = error.filename or self._folder
        self.log.plain(f"{where}: {error.strerror}; the program runs on without a trace")
        self._folder = ""
        self._header.tool_path[0] = 0

    def _save(self) -> None:
        if self._run is not None:
            self._run.save(self._folder)
            if self._listed:
                path = os.path.join(self._folder, "aux", "funclist.log")
                with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                    file.write("".join(self._listed))

    # -- functions -----------------------------------------------------------------------------

    def code_mapped(self, start: int, length: int, offset: int, file: KnownFile) -> None:
        if not self._specs or self._run is None:
            return
        from interpose.tools.memtrace.functions import find

        known = file.object_file(self.supervisor.symbolizer.object_file)
        found = find(self._specs, known, start, length, offset)
        if not found:
            return
        first = len(self._run.functions) + 1
        numbers = range(first, first + len(found))
        for number, one in zip(numbers, found, strict=True):
            self._run.functions.append((one.start, number, one.parameters, one.noret))
            noret = ",noret" if one.noret else ""
            self._listed.append(f"{number},{one.parameters},{one.start:#x}{noret},{one.library}!{one.name}\n")
        lib.ip_trace_functions_add(
            len(found),
            ffi.new("uint64_t[]", [one.start for one in found]),
            ffi.new("uint64_t[]", [one.end for one in found]),
            ffi.new("uint32_t[]", list(numbers)),
        )
        if self._folder:
            try:
                self._save()
            except OSError as error:
                self._give_up(error)

    def code_unmapped(self, addr: int, length: int) -> None:
        if self._specs:
            lib.ip_trace_functions_del(addr, addr + length)

    # -- the end -------------------------------------------------------------------------------

    def finish(self, status: int | None) -> int:
        self._complete()
        return super().finish(status)

    def executes(self) -> None:
        self._complete()
        self._header = None

    def _tell(self, text: str) -> None:
        if self.config.core.verbosity > 0:
            self.log.plain(text)

    def _complete(self) -> None:
        folder, self._folder = self._folder, ""
        if not folder or self._owner != os.getpid():
            return
        failed = self._header.tool[lib.IP_MTR_FAILED]
        if self._header.tool[lib.IP_MTR_NO_ROOM]:
            self.log.plain(f"{folder}: some of the program's code is not in the trace: there is too much")
        failure = f"{folder}: {os.strerror(failed)}" if failed else ""
        early = f"{failure}; the trace ends there" if failed else ""
        if not self.config.tool.memtrace_finish:
            if early:
                self.log.plain(early)
            self._tell(f"Records: {folder} (interpose-memtrace finish makes the trace)")
            return
        from interpose.tools.memtrace.finishing import RECORDS, NothingRecordedError, finish

        try:
            result = finish(folder, keep_raw=self.config.tool.memtrace_keep_raw)
        except InterposeError as error:
            if not os.path.exists(os.path.join(folder, "raw", RECORDS)):
                self.log.plain(f"{folder}: the records are gone; there is no trace")
            elif isinstance(error, NothingRecordedError):
                # The file may be full all the same: of code that was to run, which comes before what has run.
                self.log.plain(f"{failure}; nothing was recorded" if failed else str(error))
            else:
                what = f"{early}, unfinished" if early else str(error)
                self.log.plain(f"{what}; the records stay, for interpose-memtrace finish")
            return
        for note in [early] if early else result.notes:
            self.log.plain(note)
        threads = f"{len(result.files)} thread{'s' if len(result.files) > 1 else ''}"
        self._tell(f"Trace: {folder}, {result.instructions:,} instructions, {threads}")
