"""``--multi``: gdb's extended-remote protocol over standard input and output; ``run`` starts a program.

Until a program runs, packets are answered here; then its own server answers, and bytes are relayed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
import time

from interpose.gdb.packets import PACKET_SIZE, Reader, Signal, frame

from .found import search
from .link import Link
from .voice import VgdbError, Voice, write_all
from .wishes import Wishes

_PIECE = 1 << 16
_FEATURES = (
    f"PacketSize={PACKET_SIZE:x};QStartNoAckMode+;QEnvironmentHexEncoded+;QEnvironmentUnset+;QEnvironmentReset+;"
    "QSetWorkingDir+;QStartupWithShell+;multiprocess+;vContSupported+;swbreak+;qXfer:features:read+;"
    "qXfer:auxv:read+;qXfer:exec-file:read+;qXfer:siginfo:read+;QPassSignals+;QCatchSyscalls+"
).encode()
_START_SECONDS, _END_SECONDS = 30, 5
_ENDED = b"W00"


class _Gone(Exception):
    """gdb has left."""


class Multi:
    """One conversation with gdb, over any number of programs."""

    def __init__(self, wishes: Wishes, prefix: str, voice: Voice) -> None:
        self._wishes = wishes
        self._prefix = prefix
        self._voice = voice
        self._reader = Reader()
        self._acknowledges = True
        self._supported = b"qSupported"
        self._environment = dict(os.environb)
        self._folder: bytes | None = None
        self._shell = False
        self._last: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._leaving = b""
        """gdb wants to kill the program or to leave it."""
        self._is_over = False

    def run(self) -> int:
        """Serve until gdb leaves."""
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            while data := os.read(0, _PIECE):
                for item in self._reader.feed(data):
                    if isinstance(item, bytes):
                        if self._acknowledges:
                            write_all(1, b"+")
                        self._answer(item)
                    elif item is Signal.DAMAGED and self._acknowledges:
                        write_all(1, b"-")
        except (_Gone, BrokenPipeError):
            pass
        finally:
            self._end(at_once=True)
        return 0

    def _end(self, *, at_once: bool = False) -> int:
        """The program ends by itself, or is killed; its status, negative for a signal."""
        process, self._process = self._process, None
        if process is None:
            return 0
        with contextlib.suppress(subprocess.TimeoutExpired):
            if not at_once:
                process.wait(_END_SECONDS)
        with contextlib.suppress(OSError):
            process.kill()
        return process.wait()

    def _reply(self, content: bytes) -> None:
        write_all(1, frame(content))

    def _answer(self, content: bytes) -> None:
        self._voice.debug(f"packet {content!r}", 2)
        name = content.partition(b":")[0]
        if content.startswith(b"vRun;"):
            self._start(content[5:])
        elif content == b"QStartNoAckMode":
            self._reply(b"OK")
            self._acknowledges = self._reader.check = False
        elif name == b"qSupported":
            self._supported = content
            self._reply(_FEATURES)
        elif name in _SETTINGS:
            try:
                _SETTINGS[name](self, content[len(name) + 1 :])
                self._reply(b"OK")
            except ValueError:
                self._reply(b"E16")
        elif content in (b"!", b"D") or content.startswith(
            (b"vKill", b"H", b"QPassSignals", b"QProgramSignals")
        ):
            self._reply(b"OK")
        elif content == b"?":
            self._reply(_ENDED)
        elif content in (b"qfThreadInfo", b"qsThreadInfo"):
            self._reply(b"l")
        elif content == b"qAttached":
            self._reply(b"0")
        elif content == b"k":
            raise _Gone
        else:
            is_known = content[:1] in b"gGmMpPXxcCsSZzT" or content.startswith((b"qXfer:", b"QCatchSyscalls"))
            self._reply(b"E01" if is_known else b"")

    # -- what the program is to have ---------------------------------------------------------------

    def _set_environment(self, rest: bytes) -> None:
        name, _, value = bytes.fromhex(rest.decode("ascii")).partition(b"=")
        self._environment[name] = value

    def _unset_environment(self, rest: bytes) -> None:
        self._environment.pop(bytes.fromhex(rest.decode("ascii")), None)

    def _reset_environment(self, rest: bytes) -> None:
        self._environment = dict(os.environb)

    def _set_folder(self, rest: bytes) -> None:
        self._folder = bytes.fromhex(rest.decode("ascii")) or None

    def _set_shell(self, rest: bytes) -> None:
        self._shell = rest == b"1"

    # -- a program ---------------------------------------------------------------------------------

    def _command(self, words: list[bytes]) -> list[bytes]:
        exe = self._wishes.exe
        engine = [exe] if exe else [sys.executable, "-m", "interpose"]
        options = ["--vgdb=yes", "--vgdb-error=0", f"--vgdb-prefix={self._prefix}", *self._wishes.arguments]
        return [*map(os.fsencode, engine), *map(os.fsencode, options), *words]

    def _start(self, rest: bytes) -> None:
        """``vRun``: start the program, answer with its first stop, and relay until it has ended."""
        self._end(at_once=True)
        self._leaving, self._is_over = b"", False
        try:
            words = [bytes.fromhex(word.decode("ascii")) for word in rest.split(b";")]
        except ValueError:
            self._reply(b"E16")
            return
        if not words[0] and self._last:
            words[0] = self._last[0]
        if not words[0]:
            self._voice.tell("no program to run: give gdb's 'set remote exec-file'")
            self._reply(b"E02")
            return
        self._last = words
        try:
            self._process = subprocess.Popen(
                self._command(words),
                stdin=subprocess.DEVNULL,
                stdout=2,  # standard output is gdb's
                env=self._environment,
                cwd=self._folder,
            )
            link = self._connect(self._process)
        except (OSError, VgdbError) as error:
            self._voice.tell(f"cannot run {os.fsdecode(words[0])}: {error}")
            self._end(at_once=True)
            self._reply(b"E01")
            return
        with link:
            self._relay(link)
        status = self._end()
        if not self._is_over:  # it has gone without a last word
            self._reply(b"X%02x" % -status if status < 0 else b"W%02x" % status)

    def _connect(self, process: subprocess.Popen[bytes]) -> Link:
        """The program's server, once it is there."""
        end = time.monotonic() + _START_SECONDS
        while True:
            try:
                return Link(search(self._prefix, process.pid, 0, self._voice), self._voice)
            except VgdbError:
                if process.poll() is not None:
                    raise VgdbError(f"it has ended with status {process.returncode}") from None
                if time.monotonic() >= end:
                    raise
            time.sleep(0.02)

    def _relay(self, link: Link) -> None:
        """Bring the program's server to where gdb is in the conversation, and then stand aside."""
        reader = Reader()
        reader.check = False
        if self._acknowledges:
            link.send(b"+")
        else:
            link.send(frame(b"QStartNoAckMode"))
            self._skip(link, reader)
        for content in (self._supported, b"?"):
            link.send(frame(content))
            answer = self._skip(link, reader)
        self._reply(answer)
        ready = select.poll()
        ready.register(0, select.POLLIN)
        ready.register(link.replies, select.POLLIN)
        while not self._is_over:
            events = dict(ready.poll(1000))
            if link.replies in events:
                data = os.read(link.replies, _PIECE)
                if not data:
                    return
                for item in reader.feed(data):
                    self._look_at_answer(item)
                write_all(1, data)
            elif 0 in events:
                data = os.read(0, _PIECE)
                if not data:
                    raise _Gone
                try:
                    for item in self._reader.feed(data):
                        self._pass_on(link, item)
                except BrokenPipeError:
                    return
            elif not events and not link.is_alive():
                return

    def _look_at_answer(self, item: bytes | Signal) -> None:
        """What the program's server says may be its last word."""
        if not isinstance(item, bytes):
            return
        if item[:1] in (b"W", b"X"):
            self._is_over = True
        elif self._leaving and item == b"OK":
            self._is_over = True
            if self._leaving == b"D":
                self._process = None  # it goes on without us

    def _pass_on(self, link: Link, item: bytes | Signal) -> None:
        """What gdb says is for the program's server, but for who started the program."""
        if not isinstance(item, bytes):
            if item.value:
                link.send(item.value)
            return
        if item.startswith(b"qAttached"):
            if self._acknowledges:
                write_all(1, b"+")
            self._reply(b"0")
            return
        link.send(frame(item))
        if item == b"k":
            self._is_over = True
        elif item.startswith(b"vKill") or item[:1] == b"D":
            self._leaving = item[:1]

    def _skip(self, link: Link, reader: Reader) -> bytes:
        """The next packet of the program's server."""
        while data := link.read(time.monotonic() + _START_SECONDS):
            for item in reader.feed(data):
                if isinstance(item, bytes):
                    return item
        return _ENDED


_SETTINGS = {
    b"QEnvironmentHexEncoded": Multi._set_environment,
    b"QEnvironmentUnset": Multi._unset_environment,
    b"QEnvironmentReset": Multi._reset_environment,
    b"QSetWorkingDir": Multi._set_folder,
    b"QStartupWithShell": Multi._set_shell,
}
