"""Hooks in the supervisor: binds them, and answers the stubs on the program's stacks (abi/hook.h).

Each hooked call has a greenlet, in which the hook's frames wait while the program runs the original. Threads
would not do: a fork of the program's forks the supervisor too, and the child's hooks have to go on there.

Nobody tells of calls that the program leaves by longjmp or by the end of a thread. Their frames are known to
be gone when another call's frame lies over them, or when their number is no longer there.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import TYPE_CHECKING, Any

from greenlet import GreenletExit, getcurrent, greenlet

from interpose.hooks import running
from interpose.hooks.bind import Fates
from interpose.hooks.errors import (
    FailedThere,
    Gone,
    MemoryFault,
    ProgramGone,
    Unavailable,
    place_of,
    printable,
    told_of,
)
from interpose.hooks.hooked import AT_ID, EVENT, ID, Answer, Event, HookedCall
from interpose.hooks.port import Frame
from interpose.jit._native import lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.host import Host
    from interpose.hooks.port import Results
    from interpose.hooks.registry import Registry
    from interpose.redir import Change
    from interpose.report.log import Log

_COMMON_SIZE = 1024  # more than the stub's common part has; nothing lies behind it
CALL_LENGTH = 5  # bytes of the entry's call: where it goes on says which entry it is
_SWEEP = 64  # calls under way before those that were left are looked for
_LOOK_SECONDS = 1.0
_SHOWN = 10  # reports of one failure
_STEP = 512
assert _STEP > lib.IP_HOOK_STACK


class HookService:
    """All hooks of one process, for one program after the other."""

    def __init__(self, host: Host, registry: Registry) -> None:
        self.host = host
        self.registry = registry
        self.hub = getcurrent()
        self._calls: dict[int, HookedCall] = {}
        self._near: dict[int, list[HookedCall]] = {}
        """The same by where their frames lie, in steps of _STEP bytes."""
        self._next = 1
        self._sweep_at = _SWEEP
        self._table = self._common = 0
        self._functions: dict[str, int] = {}
        self._fates = Fates()
        self._began_in = os.getpid()
        self._images = 0
        self._failures: dict[tuple[Any, ...], int] = {}
        sys.stdout = sys.stderr = Output(host.log)
        self._watch()

    def _forked(self) -> None:
        """This is a copy of the process that served until now."""
        for connection in {hook.connection for hook in self.registry}:
            if connection is not None:
                connection.forked()
        self._watch()

    def _watch(self) -> None:
        """Look each second whether a hook computes for nobody; each process has to ask for it anew."""
        self._pid = os.getpid()
        signal.signal(signal.SIGALRM, self._look)
        signal.setitimer(signal.ITIMER_REAL, _LOOK_SECONDS, _LOOK_SECONDS)

    def _look(self, _number: int, _frame: Any) -> None:
        if getcurrent() is not self.hub and self.host.is_gone():
            raise ProgramGone

    def new_image(self) -> None:
        """Another program begins; what waited for the old one is dropped."""
        self._images += 1
        self._table = 0
        self._functions.clear()
        for call in list(self._calls.values()):
            self._drop(call)

    def bound_at(self, table: int, common: int) -> None:
        """The stubs are mapped: address of the first entry, and of what follows all of them."""
        self._table = table
        self._common = common

    def bound(self, change: Change) -> None:
        """Bindings were added."""
        self._fates.note(change, self._table)

    def tell_unbound(self) -> None:
        """At the end of the program that the user started: name hooks whose functions were never there."""
        if os.getpid() != self._began_in or self._images > 1 or self.host.verbosity < 1:
            return
        for line in self._fates.unbound_lines(self.registry, self._table):
            self.host.log.plain(line)

    def is_hidden(self, address: int) -> bool:
        """Whether a return address is in the stub's common part: its entry is the frame that stacks show."""
        return 0 < address - self._common <= _COMMON_SIZE and self._table != 0

    def frame(self, address: int) -> tuple[str, str, int] | None:
        """Name, file and line of the hook that an entry of the stub belongs to."""
        number = (address - self._table) // lib.IP_HOOK_ENTRY_SIZE
        if not self._table or not 0 <= number < len(self.registry):
            return None
        hook = self.registry[number]
        return hook.name, hook.file, hook.line

    def code_changed(self) -> None:
        """Objects came or went."""
        self._functions.clear()

    # -- events ------------------------------------------------------------------------------------

    def answer(self, event: Event) -> Answer:
        """Take one event of a stub; what the stub is to do."""
        words, frame = event.words, event.frame
        self.hub = getcurrent()
        if os.getpid() != self._pid:
            self._forked()
        answer: Answer
        if words[EVENT] == lib.IP_HOOK_ENTERED and event.again == lib.IP_HOOK_DONE:
            answer = self._enter(event)
        else:
            call = self._calls.get(frame)
            if call is None or (call.number != words[ID] and event.again == lib.IP_HOOK_DONE):
                return Answer()  # no stub's request
            call.asker = event.asker
            answer = self._go_on(call, event)
        if answer.again == lib.IP_HOOK_DONE and answer.action == lib.IP_HOOK_LEAVE:
            ended = self._calls.get(frame)
            if ended is not None:
                self._remove(ended)
        return answer

    def _remove(self, call: HookedCall) -> None:
        call.over = True
        if self._calls.get(call.frame) is call:
            del self._calls[call.frame]
            near = self._near[call.frame // _STEP]
            near.remove(call)
            if not near:
                del self._near[call.frame // _STEP]

    def _enter(self, event: Event) -> Answer:
        frame = event.frame
        number, rest = divmod(event.words[2] - CALL_LENGTH - self._table, lib.IP_HOOK_ENTRY_SIZE)
        if not self._table or rest or not 0 <= number < len(self.registry):
            return Answer()
        self._forget_left(frame)
        call = HookedCall(self, self.registry[number], self._next, event)
        self._next += 1
        self._calls[frame] = call
        self._near.setdefault(frame // _STEP, []).append(call)
        call.greenlet = greenlet(self._run)
        return self._go_on(call, call)

    def _go_on(self, call: HookedCall, value: Event | HookedCall) -> Answer:
        """Let a hook run until it asks for something, or is over.

        A child that it forks ends when it gets here: the program has one process that answers it.
        """
        assert call.greenlet is not None
        running.begin(call.hook.told, self._pid)
        answer: Answer = call.greenlet.switch(value)
        running.end()
        if os.getpid() != self._pid:
            os._exit(0)
        return answer

    def _run(self, call: HookedCall) -> Answer:
        """What a greenlet does: the hook, and where it fails the original in its place."""
        hook = call.hook
        try:
            try:
                integer, vector = hook.execute(call)
                if integer is None and vector is None and call.results is None and hook.needs_result:
                    raise TypeError(f"{hook.name} has neither called the original nor returned a result")
                # Not the bits that it does not declare: they may be declared narrower than they are.
                if _is_kept(call.results, integer, hook.mask):
                    integer = None
                return call.last(integer, vector)
            except ProgramGone:
                raise
            except BaseException as error:
                if call.over:
                    raise GreenletExit from error
                self._failed(call, error)
                if call.results is None:
                    self._proceed(call)
                return call.last(None, None)
        except (GreenletExit, ProgramGone):
            call.over = True
            return Answer()

    @staticmethod
    def _proceed(call: HookedCall) -> None:
        """Call the original of a hook that failed."""
        try:
            call.proceed(call.entry)
        except (IndexError, MemoryFault):  # no room for what the hook has assigned
            call.entry.stack.clear()
            call.proceed(call.entry)

    # -- calls that were left -------------------------------------------------------------------------

    def _forget_left(self, frame: int) -> None:
        """A frame lies at an address: those that lie over it are gone."""
        if len(self._calls) >= self._sweep_at:
            self._sweep()
        for step in range(frame // _STEP - 1, frame // _STEP + 2):
            for call in tuple(self._near.get(step, ())):
                if abs(call.frame - frame) < lib.IP_HOOK_STACK:
                    self._drop(call)

    def _sweep(self) -> None:
        """Drop calls whose frames no longer have their number."""
        for call in list(self._calls.values()):
            data = self.host.read(call.frame + AT_ID, 8)
            if data is None or int.from_bytes(data, "little") != call.number:
                self._drop(call)
        self._sweep_at = max(_SWEEP, 2 * len(self._calls))

    def _drop(self, call: HookedCall) -> None:
        """The program has left a call: its hook ends where it waits."""
        self._remove(call)
        if call.greenlet is not None and not call.greenlet.dead and call.greenlet is not getcurrent():
            running.begin(call.hook.told, self._pid)
            call.greenlet.throw(GreenletExit)
            running.end()

    # -- what calls ask -------------------------------------------------------------------------------

    def find(self, name: str) -> int:
        """Address of a function, kept as long as no code comes or goes."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self.host.find_function(name)
        return found

    def binding(self, address: int) -> tuple[str, str]:
        """Function and soname of a hooked address."""
        return self.host.binding(address)

    def frames(self, raw: Sequence[int]) -> list[Frame]:
        """Frames of return addresses."""
        resolver = self.host.resolver
        stack = tuple((address - 1) & 0xFFFF_FFFF_FFFF_FFFF for address in raw)
        frames = []
        for f in resolver.frames(stack):
            file = os.path.join(f.dir, f.file) if f.dir and f.file else f.file
            frames.append(Frame(f.ip, f.name, file, f.line or 0, f.obj))
        return frames

    # -- failures -------------------------------------------------------------------------------------

    def _failed(self, call: HookedCall, error: BaseException) -> None:
        """Show an exception of a hook's, the first times."""
        hook = call.hook
        if isinstance(error, Unavailable):
            if isinstance(error, Gone):
                self.host.log.plain(f"{error}; the program goes on without them")
            return
        key: tuple[Any, ...]
        if isinstance(error, FailedThere):
            key, text = (hook.number, *error.key), printable(error.text)
        else:
            key, text = (hook.number, type(error), place_of(error)), told_of(error)
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if count > _SHOWN:
            return
        goes_on = "with the original's result" if call.address else "with the result 0"
        log = self.host.log
        lines = [f"Hook {hook.name} ({hook.place}) failed; the program goes on {goes_on}"]
        lines += [f"  {line}" for line in text.rstrip("\n").split("\n")]
        from interpose.report.text import stack_lines

        resolver = self.host.resolver
        raw = call.raw_stack()
        stack = [address - (at == 0) for at, address in enumerate(raw)]
        lines += stack_lines(resolver, resolver.normalise(stack))
        if count == _SHOWN:
            lines.append("  Further failures of this kind are not shown.")
        log.plain("\n".join(lines))


def _is_kept(results: Results | None, integer: int | None, mask: int) -> bool:
    """Whether a hook returns what the original did."""
    return results is not None and integer is not None and not (integer ^ results.integer[0]) & mask


class Output:
    """``sys.stdout`` and ``sys.stderr`` of hooks: the log."""

    encoding = "utf-8"
    errors = "surrogateescape"
    closed = False

    def __init__(self, log: Log) -> None:
        self._log = log

    def write(self, text: str) -> int:
        if not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        self._log.hooks(printable(text))
        return len(text)

    def writelines(self, lines: Sequence[str]) -> None:
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Lines are written when they end."""

    def isatty(self) -> bool:
        return False

    def writable(self) -> bool:
        return True

    def readable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False

    def fileno(self) -> int:
        raise OSError("the log is no file of the hooks")
