"""``--multi``: gdb's extended-remote protocol over standard input and output; ``run`` starts a program.

Until a program runs, packets are answered here; then its own server answers, and bytes are relayed.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import time

from interpose.console import start_words
from interpose.errors import write_all
from interpose.gdb.packets import FEATURES, MUTUAL, NEWBORN, OK, PACKET_SIZE, Reader, Signal, frame

from .found import search
from .link import Link
from .voice import VgdbError, Voice
from .wishes import Wishes

_PIECE = 1 << 16
_OWN_FEATURES = (
    b"QEnvironmentHexEncoded+",
    b"QEnvironmentUnset+",
    b"QEnvironmentReset+",
    b"QSetWorkingDir+",
    b"QStartupWithShell+",
)
_OF_ANYBODY = (
    b"PacketSize=%x" % PACKET_SIZE,
    b"QStartNoAckMode+",
    b"multiprocess+",
    b"vContSupported+",
    b"swbreak+",
    b"qXfer:features:read+",
    b"qXfer:auxv:read+",
    b"qXfer:exec-file:read+",
    b"qXfer:siginfo:read+",
    b"QPassSignals+",
    b"QCatchSyscalls+",
)
"""Of the server of another command, which may be Valgrind's."""
_START_SECONDS, _END_SECONDS = 30, 5
_ENDED = b"W00"
_RESUMES = (b"vCont;", b"c", b"C", b"s", b"S")


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
        self._last: list[bytes] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._debugged: set[int] = set()
        """The program, and the children of it that gdb has been told of, while gdb has them."""
        self._leaving = b""
        """How gdb wants to kill one of them or to leave it."""
        self._is_over = False
        self._asked = b""
        """What gdb waits for an answer to."""
        self._untold = b""
        """How the program has ended, where gdb did not wait for that: it is told when it has that go on."""

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
        children = self._debugged - {process.pid if process else 0}
        self._debugged.clear()
        for pid in children if at_once else ():
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
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
        elif self._untold and content.startswith(_RESUMES):
            self._reply(self._untold)
            self._untold = b""
        elif self._untold and content[:1] in b"Zz":  # breakpoints, without which gdb does not have it go on
            self._reply(OK)
        elif content == b"QStartNoAckMode":
            self._reply(OK)
            self._acknowledges = self._reader.check = False
        elif name == b"qSupported":
            self._supported = content
            theirs = content.partition(b":")[2].split(b";")
            mutual = (feature for feature in MUTUAL if feature in theirs)
            common = _OF_ANYBODY if self._wishes.exe else (*FEATURES, *mutual)
            self._reply(b";".join((*common, *_OWN_FEATURES)))
        elif name in _SETTINGS:
            try:
                _SETTINGS[name](self, content[len(name) + 1 :])
                self._reply(OK)
            except ValueError:
                self._reply(b"E16")
        elif content in (b"!", b"D") or content.startswith(
            (b"vKill", b"H", b"QPassSignals", b"QProgramSignals", b"QThreadEvents", b"qRcmd,")
        ):  # an empty answer to what is announced is a "protocol error" to gdb, which then ends its run
            self._reply(OK)
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
        """Never through a shell, whatever gdb has set: so words and environment arrive as they are here."""

    # -- a program ---------------------------------------------------------------------------------

    def _command(self, words: list[bytes]) -> list[bytes]:
        exe = self._wishes.exe
        engine = [exe] if exe else start_words("interpose.__main__")
        options = ["--vgdb=yes", "--vgdb-error=0", f"--vgdb-prefix={self._prefix}", *self._wishes.arguments]
        return [*map(os.fsencode, engine), *map(os.fsencode, options), *words]

    def _start(self, rest: bytes) -> None:
        """``vRun``: start the program, answer with its first stop, and relay until it has ended."""
        self._end(at_once=True)
        self._leaving, self._is_over = b"", False
        self._asked = self._untold = b""
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
            self._debugged = {self._process.pid}
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
            self._untold = b"X%02x" % -status if status < 0 else b"W%02x" % status
            if self._asked:
                self._answer(self._asked)

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
                data = link.take()
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
            elif not events and link.is_gone():
                return

    def _look_at_answer(self, item: bytes | Signal) -> None:
        """What the program's server says may be the last word of one process, or of all."""
        if not isinstance(item, bytes):
            return
        if item == OK or item[:1] != b"O":
            self._asked = b""
        if item[:1] == b"T":
            self._debugged.update(int(child, 16) for child in NEWBORN.findall(item))
        elif item[:1] in (b"W", b"X"):
            self._forget(item.partition(b";process:")[2])
        elif self._leaving and item == OK:
            self._forget(self._leaving.partition(b";")[2], lives=self._leaving[:1] == b"D")

    def _forget(self, number: bytes, *, lives: bool = False) -> None:
        """gdb has a process no longer: this one (digits), or all that there are.

        :param lives: it goes on without us.
        """
        gone = set(self._debugged)
        with contextlib.suppress(ValueError):
            gone = {int(number, 16)}
        self._debugged -= gone
        if lives and self._process and self._process.pid in gone:
            self._process = None
        self._is_over = not self._debugged

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
        self._asked = item
        link.send(frame(item))
        if item == b"k":
            self._is_over = True
        self._leaving = item if item.startswith(b"vKill") or item[:1] == b"D" else b""

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
