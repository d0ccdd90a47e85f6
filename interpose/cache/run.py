"""What one supervisor takes from the cache, and adds to it when the program has ended."""

from __future__ import annotations

import os
import time

from interpose import __version__, system
from interpose.cache.digest import digest
from interpose.cache.folder import CacheError, Folder
from interpose.cache.memo import MOST_BYTES, Memo
from interpose.errors import write_all
from interpose.jit._native import lib
from interpose.ranges import Ranges

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from interpose.options.parse import Config
    from interpose.report.log import Log
    from interpose.supervisor.files import KnownFile

MOST_SEGMENT_BYTES = 512 << 20
"""Of one image, which may also take half of the folder at most.  A compiler proper needs 150 MB, XLA 400."""

WORTH_WRITING = 8
"""So many blocks at least, and one for each fifty that are kept, make a file be written anew."""

_NOTES_JUMPS = b"notes jumps"
"""Of a program: it comes to have a handler that may see where a jump was (IP_C_JUMPS).  Blocks that note it
are in files of their own; and where that is known from the first block on, the handler needs no flush."""

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_DECIDING = (".", "cache", "elf", "redir", "supervisor", "zenc")
"""Folders of the package whose Python decides what is bound; its C has the build's checksum."""

# Tools and options that make other code than programs run with as a rule, or want to see it made.
_UNKEPT = (
    lib.IP_C_TRACE
    | lib.IP_C_COUNT
    | lib.IP_C_SINGLE_STEP
    | lib.IP_C_NO_OPT
    | lib.IP_C_NO_CLEANUP
    | lib.IP_C_NO_INSTR
    | lib.IP_C_NO_CHAIN
    | lib.IP_C_FORCE_TRACK
    | lib.IP_C_SMC_ALL
    | lib.IP_C_FAR_IMAGES
)


class Segment:
    """The translations of one mapped image: where they are mapped, the image, and the name of their file."""

    __slots__ = ("end", "kept", "name", "place", "start")

    def __init__(self, start: int, end: int, place: bytes, name: str, kept: int) -> None:
        self.start = start
        self.end = end
        self.place = place
        self.name = name
        self.kept = kept

    def rename(self, name: str) -> None:
        """What was made of it belongs into that file, of which nothing was taken if it is another one."""
        if name != self.name:
            self.name = name
            self.kept = 0


def _this_build() -> bytes:
    words = [__version__, str(lib.ip_build_id())]
    for folder in _DECIDING:
        with os.scandir(os.path.join(_PACKAGE, folder)) as entries:
            for entry in entries:
                if entry.name.endswith(".py"):
                    status = entry.stat()
                    words.append(f"{folder}/{entry.name} {status.st_size} {status.st_mtime_ns}")
    return "\n".join(sorted(words)).encode()


def open_cache(config: Config, header: Any, log: Log) -> Cache | None:
    """The cache for a run under these options; None, with a line under ``-v``, if there is none."""
    core = config.core
    if core.cache not in ("yes", "read"):
        return None
    try:
        if system.limit(lib.IP_LIMIT_NOFILE)[0] < system.LEFT_FREE:
            raise CacheError("file descriptors are too few")  # forks and execs need them more
        return Cache(config, header, log, Folder())
    except CacheError as error:
        if core.verbosity > 1:
            log.debug(f"no cache: {error}")
        return None


class Cache:
    """See the module.

    :ivar memo: what the redirection core made of the present program's objects; None: it is to be asked.
    """

    def __init__(self, config: Config, header: Any, log: Log, folder: Folder) -> None:
        core = config.core
        self._folder = folder
        self._log = log
        self._tells = core.verbosity > 1
        self._writes = self._may_write = core.cache == "yes"
        if self._tells and self._writes:
            self._tell_refusal()
        self._most_bytes = core.cache_size << 20
        options = (config.tool_name, header.config_flags, core.soname_synonyms, core.redzone_size)
        self._seed = repr(options).encode() + _this_build()
        # What somebody wants to be told of, or brings rules of its own, is not answered from memory.
        self._remembers = not (
            core.verbosity > 1
            or core.trace_redir
            or core.hooks
            or core.require_text_symbol
            or core.extra_debuginfo_path
            or (core.enable_debuginfod and os.environ.get("DEBUGINFOD_URLS"))
        )
        self._keeps = not (
            header.config_flags & _UNKEPT
            or any(core.trace_flags or ())
            or core.stop_after
            or core.random_registers
            or core.tiny_cache
            or core.hooks
        )
        self.memo: Memo | None = None
        self._memo_name = ""
        self._segments: Ranges[Segment] = Ranges()
        self._told = 0
        if self._keeps:
            place = self._folder.made() if self._writes else -1
            most = min(MOST_SEGMENT_BYTES, self._most_bytes // 2)
            lib.ip_keep_start(self._writes, place, most)

    def next_program(self, path: bytes) -> None:
        """Another program begins."""
        self._segments = Ranges()
        self.memo = None
        if self._remembers:
            seed = self._seed + b"\0" + path
            self._memo_name = f"memo-{digest(seed).hex()}"
            self.memo = Memo(seed, self._folder.read(self._memo_name, MOST_BYTES))
            if self.memo.damaged:
                self._tell_damage(self._memo_name)
        lib.ip_keep_begin(self.memo is not None and self.memo.holds(_NOTES_JUMPS))

    def _tell_refusal(self) -> None:
        """Whether something can be added is seen when the program has ended, too late for the log."""
        try:
            self._folder.check_writing()
        except CacheError as error:
            self._log.debug(f"cache: nothing can be added: {error}")

    def _tell_damage(self, name: str) -> None:
        if self._tells:
            self._log.debug(f"cache: {self._folder.path}/{name} is damaged, or of another build: ignored")

    def mapped(self, start: int, length: int, offset: int, file: KnownFile) -> None:
        """Code of a file was mapped: take what is kept of it."""
        if not self._keeps or file.beginning is None or start + length > 1 << 32:
            return
        place = f"{start:x} {length:x} {offset:x} {file.beginning}".encode()
        name = self._code_name(place)
        kept = lib.ip_keep_add(start, start + length, self._folder.descriptor(name))
        if kept < 0:
            self._told += 1
            self._tell_damage(name)
        end = start + length
        self._segments.drop(start, end)
        self._segments.add(start, end, Segment(start, end, place, name, max(kept, 0)))

    def _code_name(self, place: bytes) -> str:
        jumps = _NOTES_JUMPS if lib.ip_keeps_jumps() else b""
        return f"code-{digest(self._seed + place + jumps).hex()}"

    def forked(self) -> None:
        """This is the copy for a forked child: what it learns it may have from its parent."""
        self._writes = False
        lib.ip_keep_writes(False)

    def executes(self) -> None:
        """Another program has begun in this process, with tables of its own."""
        self._writes = self._may_write
        lib.ip_keep_writes(self._writes)

    def ended(self) -> None:
        """The program has ended: say what was wrong."""
        damaged = lib.ip_keep_damaged() - self._told
        if self._tells and damaged:
            self._log.debug(f"cache: {self._folder.path}: {damaged} damaged pieces were ignored")

    def finish(self) -> None:
        """Nobody waits any more: add what is new."""
        if not self._writes:
            return
        if self.memo is not None:
            self.memo.end_row()
            if lib.ip_keeps_jumps():
                self.memo.say(_NOTES_JUMPS)
        for segment in self._segments:
            segment.rename(self._code_name(segment.place))
        memo = self.memo if self.memo is not None and self.memo.added else None
        grown = [segment for segment in self._segments if self._is_worth(segment)]
        if memo is None and not grown:
            return
        lock = self._folder.lock()
        if lock < 0:
            return
        if memo is not None:
            self._write_memo(memo)
        for segment in grown:
            self._write_segment(segment)
        self._folder.unlock(lock, self._most_bytes)

    @staticmethod
    def _is_worth(segment: Segment) -> bool:
        fresh = lib.ip_keep_fresh(segment.start, segment.end)
        return bool(fresh >= WORTH_WRITING + segment.kept // 50)

    def _write_memo(self, memo: Memo) -> None:
        present = self._folder.read(self._memo_name, MOST_BYTES)
        if present is not None:
            memo.take(present)  # another run may have added to it meanwhile
        data = memo.contents()

        def fill(fd: int) -> bool:
            write_all(fd, data)
            return True

        if len(data) <= MOST_BYTES:
            self._folder.replace(self._memo_name, fill)

    def _write_segment(self, segment: Segment) -> None:
        def fill(fd: int) -> bool:
            old = self._folder.descriptor(segment.name)
            return bool(lib.ip_keep_save(segment.start, segment.end, old, fd) > 0)

        self._folder.replace(segment.name, fill)


RECENT_NS = 2_000_000_000
"""A file that was written as lately may be written again without its times telling."""


def is_settled(changed_ns: int) -> bool:
    """Whether a file's times tell its contents."""
    return time.time_ns() - changed_ns > RECENT_NS
