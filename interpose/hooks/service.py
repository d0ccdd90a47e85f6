"""Hooks in the supervisor: binds them, and answers the stubs on the program's stacks (abi/hook.h).

Each hooked call has a greenlet, in which the hook's frames wait while the program runs the original. Threads
would not do: a fork of the program's forks the supervisor too, and the child's hooks have to go on there.

Nobody tells of calls that the program leaves by longjmp or by the end of a thread. Their frames are known to
be gone when another call's frame lies over them, or when their number is no longer there.
"""

from __future__ import annotations

import os
import signal
import struct
import sys
import traceback
from typing import TYPE_CHECKING, Any, NamedTuple

from greenlet import GreenletExit, getcurrent, greenlet

from interpose.hooks.errors import CallOver, FailedThere, Gone, MemoryFault, Unavailable, told_of
from interpose.hooks.port import Frame, Registers, Results, Thread
from interpose.jit._native import ffi, lib

if TYPE_CHECKING:
    from collections.abc import Sequence

    from interpose.hooks.registry import Hook, Registry
    from interpose.hooks.remote import RemoteHook
    from interpose.redir import Change
    from interpose.report.log import Log
    from interpose.supervisor.main import Supervisor

_COMMON_SIZE = 1024  # more than the stub's common part has; nothing lies behind it
CALL_LENGTH = 5  # bytes of the entry's call: where it goes on says which entry it is
FRAME = struct.Struct("<51Q")
assert FRAME.size == ffi.sizeof("struct ip_hook_frame")
_PAIR = struct.Struct("<QQ")
_EVENT, _ID, _ORIGINAL = 3, 6, 7
_INTEGER, _VECTORS, _VECTOR, _RESULT, _VRESULT = 12, 18, 20, 36, 38
_AT_ID = 8 * _ID
_LEAST_COPIED = 32
"""Words of the arguments on the stack that an original gets whatever the hook declares of them."""
_MOST_COPIED = 4096
_WRITE = 7000  # bytes to the program in one answer, beside a frame
_READ = 1 << 20
_SWEEP = 64  # calls under way before those that were left are looked for
_LOOK_SECONDS = 1.0
_SHOWN = 10  # reports of one failure
_STEP = 512
assert _STEP > lib.IP_HOOK_STACK
_END = 1 << 47


class ProgramGone(BaseException):
    """Raised in a hook that computes while there is no program left to wait for it."""


class Answer(NamedTuple):
    """What the stub, or the runtime in its stead, is told."""

    action: int = 0
    again: int = 0
    writes: Sequence[tuple[int, bytes]] = ()


class Event(NamedTuple):
    """What the stub says: its frame, and what the runtime knows of it."""

    words: tuple[int, ...]
    room: int
    failed: int
    trace: tuple[int, ...]


class HookedCall:
    """One hooked call under way: :class:`interpose.hooks.port.Port` for this engine."""

    def __init__(
        self, service: HookService, hook: Hook | RemoteHook, number: int, slot: Any, event: Event
    ) -> None:
        words = event.words
        self._service = service
        self.hook = hook
        self.number = number
        self.frame = int(slot.a[0])
        self.entry = Registers(
            list(words[_INTEGER : _INTEGER + 6]), list(words[_VECTOR : _VECTOR + 16 : 2]), [words[_VECTORS]]
        )
        self._high = tuple(words[_VECTOR + 1 : _VECTOR + 16 : 2])
        """The upper halves of XMM0 to XMM7 at the entry, which belong to what the lower ones hold."""
        self._high_results = (words[_VRESULT + 1], words[_VRESULT + 3])
        self.address = words[_ORIGINAL]
        self.over = False
        self.results: Results | None = None
        """What the original returned last."""
        self._entered = tuple(self.entry.vector)
        self._shown = self.entry.copy()
        """The registers as the frame has them."""
        self._initial = Results((words[_RESULT], words[_RESULT + 1]), (words[_VRESULT], words[_VRESULT + 2]))
        self._holds_results = True
        """The frame has the original's results (at first the registers of the entry), not others'."""
        self._room = event.room
        self._copied = min(_LEAST_COPIED, event.room) & ~1
        self._top = words[11]
        self._left = 0
        """Bytes that were taken of the stack and not given out, from the top on."""
        self.slot = slot
        self.greenlet: greenlet | None = None

    # -- the way to the program ----------------------------------------------------------------

    def _ask(self, answer: Answer) -> Event:
        """Have the program go on, until it is back here."""
        if self.over:
            raise CallOver
        if getcurrent() is not self.greenlet:
            raise RuntimeError("a call can be used by the hook that it was given to, not by other threads")
        event: Event = self._service.hub.switch(answer)
        return event

    def head(self, target: int, copied: int, room: int) -> tuple[int, bytes]:
        """The words of the frame that each answer may change."""
        return self.frame + _AT_ID, struct.pack("<QQQQQ", self.number, self.address, target, copied, room)

    def _changes(self, registers: Registers) -> list[tuple[int, bytes]]:
        """Writes that bring registers into the frame. What is the same stays, as defined as it was."""
        writes = []
        shown = self._shown
        if shown.integer != registers.integer:
            for at, (old, new) in enumerate(zip(shown.integer, registers.integer, strict=True)):
                if old != new:
                    writes.append((self.frame + 8 * (_INTEGER + at), new.to_bytes(8, "little")))
        if shown.vector != registers.vector:
            for at, (old, new) in enumerate(zip(shown.vector, registers.vector, strict=True)):
                if old != new:
                    high = self._high[at] if new == self._entered[at] else 0
                    writes.append((self.frame + 8 * (_VECTOR + 2 * at), _PAIR.pack(new, high)))
        if shown.vectors != registers.vectors:
            writes.append((self.frame + 8 * _VECTORS, registers.vectors[0].to_bytes(8, "little")))
        self._shown = registers.copy()
        return writes

    def _go(self, action: int, target: int, copied: int, registers: Registers) -> Results:
        writes = [self.head(target, copied, 0), *self._changes(registers)]
        words = self._ask(Answer(action, 0, writes)).words
        if action == lib.IP_HOOK_PROCEED:
            self._high_results = (words[_VRESULT + 1], words[_VRESULT + 3])
        return Results((words[_RESULT], words[_RESULT + 1]), (words[_VRESULT], words[_VRESULT + 2]))

    def proceed(self, registers: Registers) -> Results:
        self.results = self._go(lib.IP_HOOK_PROCEED, self.address, self._copied, registers)
        self._holds_results = True
        return self.results

    def invoke(self, address: int, registers: Registers) -> Results:
        self._holds_results = False
        return self._go(lib.IP_HOOK_CALL, address, 0, registers)

    def last(self, integer: int | None, vector: int | None) -> Answer:
        """The answer that ends the call, with results of the hook's where they are not the original's."""
        kept = self.results or self._initial
        if self.results is None and integer is None and self.hook.mask:
            integer = 0
        results = Results(
            (kept.integer[0] if integer is None else integer, kept.integer[1]),
            (kept.vector[0] if vector is None else vector, kept.vector[1]),
        )
        writes = []
        for at, new in ((_RESULT, results.integer[0]), (_RESULT + 1, results.integer[1])):
            if not self._holds_results or new != kept.integer[at - _RESULT]:
                writes.append((self.frame + 8 * at, new.to_bytes(8, "little")))
        for at, new in enumerate(results.vector):
            if not self._holds_results or new != kept.vector[at]:
                high = self._high_results[at] if new == kept.vector[at] else 0
                writes.append((self.frame + 8 * (_VRESULT + 2 * at), _PAIR.pack(new, high)))
        return Answer(lib.IP_HOOK_LEAVE, 0, writes)

    # -- memory ----------------------------------------------------------------------------------

    def _check(self, what: str, address: int, size: int) -> None:
        if not (address >= 0 and size >= 0 and address + size <= _END):
            raise MemoryFault(what, address, size)

    def read(self, address: int, size: int) -> bytes:
        self._check("read", address, size)
        parts = []
        for at in range(0, size, _READ):  # a size out of thin air must not cost the memory for it
            data = self._service.supervisor.client.read(address + at, min(_READ, size - at))
            if data is None:
                raise MemoryFault("read", address, size)
            parts.append(data)
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def read_string(self, address: int) -> bytes:
        self._check("read a string at", address, 0)
        data = self._service.supervisor.client.read_string(address, 1 << 30)
        if data is None:
            raise MemoryFault("read a string at", address)
        return data

    def write(self, address: int, data: bytes) -> None:
        self._check("write", address, len(data))
        for at in range(0, len(data), _WRITE):
            part = data[at : at + _WRITE]
            if self._ask(Answer(0, lib.IP_HOOK_AGAIN, [(address + at, part)])).failed:
                raise MemoryFault("write", address, len(data))

    def take(self, size: int) -> int:
        size = (size + 15) & ~15
        if size > self._left:
            wanted = max(size - self._left, 256)
            if self._top - wanted < self._service.lowest(self._top):
                raise MemoryFault("take, for the stack ends there,", self._top - wanted, wanted)
            event = self._ask(Answer(lib.IP_HOOK_ROOM, 0, [self.head(0, 0, wanted)]))
            self._left += self._top - event.words[11]
            self._top = event.words[11]
        self._left -= size
        return self._top + self._left

    def stack_word(self, index: int) -> int:
        if not 0 <= index < self._room:
            raise IndexError("there is no argument on the stack so far from its first")
        return int.from_bytes(self.read(self.frame + lib.IP_HOOK_STACK + 8 * index, 8), "little")

    def set_stack_word(self, index: int, word: int) -> None:
        if not 0 <= index < min(self._room, _MOST_COPIED):
            raise IndexError("there is no argument on the stack so far from its first")
        self.write(self.frame + lib.IP_HOOK_STACK + 8 * index, word.to_bytes(8, "little"))
        self._copied = max(self._copied, (index + 2) & ~1)

    # -- what is known of it ----------------------------------------------------------------------

    def find(self, name: str) -> int:
        return self._service.find(name)

    def raw_stack(self) -> Sequence[int]:
        """Addresses of the stack; the first is the caller of the hooked function."""
        supervisor = self._service.supervisor
        event = self._ask(Answer(0, lib.IP_HOOK_TRACE))
        raw = list(event.trace) or supervisor.unwind(self.slot)
        return raw[2:]

    def frames(self) -> Sequence[Frame]:
        return self._service.frames(self.raw_stack())

    @property
    def function(self) -> str:
        return self._service.binding(self.address)[0]

    @property
    def object(self) -> str:
        return self._service.binding(self.address)[1]

    @property
    def pid(self) -> int:
        return self._service.supervisor.client.pid

    @property
    def thread(self) -> Thread:
        number, tid = int(self.slot.tid_guest), int(self.slot.tid)
        return Thread(number, tid, self._service.supervisor.thread_names.get(number, ""))


class HookService:
    """All hooks of one supervisor, for one program after the other."""

    def __init__(self, supervisor: Supervisor, registry: Registry) -> None:
        self.supervisor = supervisor
        self.registry = registry
        self.hub = getcurrent()
        self._calls: dict[int, HookedCall] = {}
        self._near: dict[int, list[HookedCall]] = {}
        """The same by where their frames lie, in steps of _STEP bytes."""
        self._next = 1
        self._sweep_at = _SWEEP
        self._table = self._common = 0
        self._functions: dict[str, int] = {}
        self._unbound = set(range(len(registry)))
        self._began_in = os.getpid()
        self._images = 0
        self._failures: dict[tuple[Any, ...], int] = {}
        sys.stdout = sys.stderr = Output(supervisor.log)
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
        if getcurrent() is not self.hub and self.supervisor.client.is_dead():
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
        for binding in change.added:
            if binding.spec.wants_original:
                self._unbound.discard((binding.target - self._table) // lib.IP_HOOK_ENTRY_SIZE)

    def tell_unbound(self) -> None:
        """At the end of the program that the user started: name hooks whose functions were never there."""
        if os.getpid() != self._began_in or self._images > 1 or self.supervisor.config.core.verbosity < 1:
            return
        for number in sorted(self._unbound):
            hook = self.registry[number]
            what = f"{hook.rule.soname}:{hook.rule.function}"
            self.supervisor.log.plain(f"Hook {hook.name} ({hook.place}): no function {what} was there")

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

    def answer(self, slot: Any) -> None:
        """Take one event of a stub, and give the answer into its slot."""
        length = slot.len
        slot.r[0], slot.r[1], slot.r[2] = lib.IP_HOOK_LEAVE, lib.IP_HOOK_DONE, 0
        if not FRAME.size <= length <= lib.IP_SLOT_DATA:
            return
        data = ffi.buffer(slot.data, length)
        words = FRAME.unpack_from(data)
        trace = (
            struct.unpack_from(f"<{(length - FRAME.size) // 8}Q", data, FRAME.size)
            if length > FRAME.size
            else ()
        )
        event = Event(words, slot.a[2], slot.a[3], trace)
        frame = int(slot.a[0])
        self.hub = getcurrent()
        if os.getpid() != self._pid:
            self._forked()
        if words[_EVENT] == lib.IP_HOOK_ENTERED and slot.a[4] == lib.IP_HOOK_DONE:
            answer = self._enter(frame, slot, event)
        else:
            call = self._calls.get(frame)
            if call is None or (call.number != words[_ID] and slot.a[4] == lib.IP_HOOK_DONE):
                return  # no stub's request
            call.slot = slot
            assert call.greenlet is not None
            answer = call.greenlet.switch(event)
        self._give(slot, frame, answer)

    def _give(self, slot: Any, frame: int, answer: Answer) -> None:
        slot.r[0], slot.r[1] = answer.action, answer.again
        for address, data in answer.writes:
            self.supervisor.answer_bytes(slot, address, data)
        if answer.again == lib.IP_HOOK_DONE and answer.action == lib.IP_HOOK_LEAVE:
            call = self._calls.get(frame)
            if call is not None:
                self._remove(call)

    def _remove(self, call: HookedCall) -> None:
        call.over = True
        if self._calls.get(call.frame) is call:
            del self._calls[call.frame]
            near = self._near[call.frame // _STEP]
            near.remove(call)
            if not near:
                del self._near[call.frame // _STEP]

    def _enter(self, frame: int, slot: Any, event: Event) -> Answer:
        number, rest = divmod(event.words[2] - CALL_LENGTH - self._table, lib.IP_HOOK_ENTRY_SIZE)
        if not self._table or rest or not 0 <= number < len(self.registry):
            return Answer()
        self._forget_left(frame)
        call = HookedCall(self, self.registry[number], self._next, slot, event)
        self._next += 1
        self._calls[frame] = call
        self._near.setdefault(frame // _STEP, []).append(call)
        call.greenlet = greenlet(self._run)
        answer: Answer = call.greenlet.switch(call)
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
            except (GreenletExit, ProgramGone):
                raise
            except BaseException as error:
                if call.over:
                    raise GreenletExit from error
                self._failed(call, error)
                if call.results is None:
                    call.proceed(call.entry)
                return call.last(None, None)
        except (GreenletExit, ProgramGone):
            call.over = True
            return Answer()

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
            data = self.supervisor.client.read(call.frame + _AT_ID, 8)
            if data is None or int.from_bytes(data, "little") != call.number:
                self._drop(call)
        self._sweep_at = max(_SWEEP, 2 * len(self._calls))

    def _drop(self, call: HookedCall) -> None:
        """The program has left a call: its hook ends where it waits."""
        self._remove(call)
        if call.greenlet is not None and not call.greenlet.dead and call.greenlet is not getcurrent():
            call.greenlet.throw(GreenletExit)

    # -- what calls ask -------------------------------------------------------------------------------

    def find(self, name: str) -> int:
        """Address of a function, kept as long as no code comes or goes."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self.supervisor.objects.find_function(name)
        return found

    def binding(self, address: int) -> tuple[str, str]:
        """Function and soname of a hooked address."""
        bound = self.supervisor.objects.redir.active.get(address)
        return ("???", "???") if bound is None else (bound.symbol, bound.soname)

    def lowest(self, address: int) -> int:
        """Where what is taken of the stack that an address lies on may begin at the lowest."""
        return max(address - (4 << 20), 1 << 16)

    def frames(self, raw: Sequence[int]) -> list[Frame]:
        """Frames of return addresses."""
        resolver = self.supervisor.resolver
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
                self.supervisor.log.plain(f"{error}; the program goes on without them")
            return
        key: tuple[Any, ...]
        if isinstance(error, FailedThere):
            key, text = (hook.number, *error.key), error.text
        else:
            where = [(entry.filename, entry.lineno) for entry in traceback.extract_tb(error.__traceback__)]
            key, text = (hook.number, type(error), *where[-1:]), told_of(error)
        count = self._failures[key] = self._failures.get(key, 0) + 1
        if count > _SHOWN:
            return
        goes_on = "with the original's result" if call.address else "with the result 0"
        log = self.supervisor.log
        lines = [f"Hook {hook.name} ({hook.place}) failed; the program goes on {goes_on}"]
        lines += [f"  {line}" for line in text.rstrip("\n").split("\n")]
        from interpose.report.text import stack_lines

        resolver = self.supervisor.resolver
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
        self._log.client(text)
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
