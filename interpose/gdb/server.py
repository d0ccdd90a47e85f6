"""The gdb server: GDB's remote serial protocol for one client process.

A :class:`Server` is one conversation. Bytes come in by :meth:`Server.receive`, replies and stops go out by
``send``; over what they travel is the caller's. Packets are those of "Packets" and "General Query Packets" in
the appendix "GDB Remote Serial Protocol" of GDB's manual; :data:`PACKETS` is the table of all there are.
"""

from __future__ import annotations

from dataclasses import dataclass

from interpose.gdb import (
    family,
    files,
    going,
    memory,
    packets,
    points,
    queries,
    regions,
    registers,
    signals,
    vforks,
)
from interpose.gdb.family import TAKE, child_at
from interpose.gdb.files import Files
from interpose.gdb.packets import OK, PACKET_SIZE, Reader, Refused, Signal
from interpose.gdb.target import Target
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.debugger import Debugger
    from interpose.gdb.family import Child, Descent, Heritage
    from interpose.gdb.fifos import Lent
    from interpose.gdb.threads import Thread
    from interpose.supervisor.main import Supervisor

UNSUPPORTED = b""
_TRAP, _INTERRUPT = 5, 2  # of Linux
_OF_CHILDREN = (lib.IP_DBG_FORKED, lib.IP_DBG_VFORKED, lib.IP_DBG_VFORK_DONE)
"""What gdb cannot take for the stop that it finds (``?``), and is told when the program goes on."""


@dataclass(frozen=True)
class Packet:
    """A kind of packet.

    :ivar prefix: what its content begins with.
    :ivar handler: the method of :class:`Server` (or a function of it and the rest) that answers.
    :ivar stops: whether it is about a program that stands still: before the first such, we attach.
    """

    prefix: bytes
    handler: Callable[[Server, bytes], bytes | None]
    stops: bool = True


class Server:
    """One conversation with a debugger.

    :param send: takes the bytes of packets and acknowledgments.
    """

    def __init__(self, supervisor: Supervisor, send: Callable[[bytes], None]) -> None:
        self.supervisor = supervisor
        self.debugger: Debugger = supervisor.debugger
        self.multiprocess = False
        self.swbreak = False
        self.follows_exec = False
        self.forks = 0
        """``IP_DBG_FORKS`` and ``IP_DBG_VFORKS``, as gdb wants to hear of them."""
        self.children: dict[int, Child] = {}
        """Other processes that gdb has not left yet, by their numbers."""
        self.chosen: Child | None = None
        """Whose thread ``H g`` has chosen; None: one of this process."""
        self.told: list[bytes] = []
        """Stops of this process that whoever had the conversation before has not told gdb of."""
        self.descent: Descent | None = None
        """In the child: where we speak."""
        self._settings: dict[bytes, bytes] = {}
        """What gdb has set (``Q``), and does not set again when the process executes another program."""
        self._executed = False
        self._send = send
        self._reader = Reader()
        self._acknowledges = True
        self._last = b""
        self._attached = False
        self._is_left = False
        """This process is gdb's no more; there are others, which nobody can go on with in our place."""
        self._stopped = False
        self._interrupt_waits = False  # it has crossed a stop that gdb may pass over
        self._is_looked_at = False  # the stop is one for the user
        self._stop: Thread | None = None
        self._signal = _TRAP  # of the last stop that is of no thread's own
        self._general = 0  # tid of H g; 0: any
        self.resuming = 0  # tid of H c; 0 or -1: all
        self._target: Target | None = None
        self.watches = points.Watches(self.debugger)
        self._closed = False
        self.files = Files()
        self.threads_left: list[bytes] = []
        self.transferred: tuple[tuple[bytes, bytes], bytes | None] = (b"", b""), None
        """What ``qXfer`` reads in parts: object and annex, the bytes."""
        self.tls_field = 0
        """Address of :data:`interpose.gdb.tls.MODULE_FIELD`, which gdb has told."""

    # -- forked children --------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether the conversation is over, or another server's."""
        return self._closed

    def speak(self, send: Callable[[bytes], None], *, acknowledges: bool) -> bool:
        """Send there from now on; whether what was sent before was acknowledged."""
        before, self._acknowledges = self._acknowledges, acknowledges
        self._reader.check = acknowledges
        self._send = send
        return before

    def followed(self, fd: int, lent: Lent | None) -> Descent:
        """This is the copy of the server for a forked child."""
        from interpose.gdb.family import Descent

        if self.descent is not None and lent is not None and self.descent.lent is not None:
            lent.close()
            lent = None
        lent = self.copied() or lent
        self._stop = None
        self._signal = _TRAP
        self._general = self.resuming = 0
        self._stopped = False
        self.descent = Descent(self, fd, lent)
        return self.descent

    def copied(self) -> Lent | None:
        """This is a copy: what is open is another process's.  FIFOs that its child may go on with."""
        self.files.close_all()
        self._forget_children()
        return self.descent.copied() if self.descent is not None else None

    def _forget_children(self) -> None:
        for child in self.children.values():
            child.close()
        self.children.clear()
        self.chosen = None
        self.told = []

    def stand(self) -> None:
        """Stop the program before it has done anything, and let gdb ask."""
        self._stopped = False
        self.halt()

    def drop_child(self, child: Child) -> None:
        """The child is gdb's no more, or has ended."""
        child.close()
        self.children.pop(child.pid, None)
        if self.chosen is child:
            self.chosen = None

    def rest(self) -> None:
        """A child was left: if this process had been before, there is nothing to talk about."""
        self._closed = (self._is_left or not self._attached) and not self.children

    @property
    def outlives_program(self) -> bool:
        """Whether gdb has yet to leave children that are not followed: our process may be gone before."""
        return self._is_left and not self._closed

    def heir(self) -> Child | None:
        """A child that can go on with the conversation."""
        return next((child for child in self.children.values() if child.is_there), None)

    def leave_to_heir(self, reply: bytes, *, ends: bool = False) -> None:
        """gdb is done with this process, and goes on with the others; the next server sends the reply.

        :param ends: whether nobody will ask for this process any more.
        """
        from interpose.gdb.family import Heritage

        heir = self.heir()
        assert heir is not None
        del self.children[heir.pid]
        others = [(child.pid, child.hand_over(), child.told) for child in self.children.values()]
        self.children.clear()
        self.chosen = None
        heir.take(Heritage(reply, heir.told, others))
        self._closed = True
        self.files.close_all()
        if self.supervisor.fifos is not None:
            self.supervisor.fifos.give_up(anew=not ends)
        if not ends:
            self._leave()

    def inherit(self, heritage: Heritage) -> None:
        """The conversation is ours."""
        self.told = list(heritage.told)
        self.children = {pid: child_at(pid, fd, told) for pid, fd, told in heritage.children}
        self.descent = None
        self.reply(heritage.reply)

    def stop_children(self) -> None:
        """Because another process has stopped, or this one."""
        for child in self.children.values():
            child.stop()

    def _ended_child(self) -> Child | None:
        """One whose end gdb has not heard of: told before stops, for its parent may have waited for it."""
        return next((child for child in self.children.values() if child.has_ended), None)

    def child_event(self, child: Child, content: bytes) -> None:
        """A child has stopped or ended, and so all others stop; or its server has something to say."""
        if not content.startswith(b"O"):
            child.told.insert(0, content)  # our own process may end meanwhile: then that is told first
            was_left = self._is_left
            self.halt()
            if self._closed or self._is_left != was_left or not child.told or child.told[0] is not content:
                return
            child.told.pop(0)
            self.stop_children()
            ended = self._ended_child()
            if ended is not None and not content.startswith((b"W", b"X")):
                child.told.insert(0, content)
                child, content = ended, ended.told.pop(0)
            self._stop = None
            self.debugger.forget_events()
            self._general = self.resuming = 0
            self.chosen = child
            if (newborn := child.newborn(self, content)) is not None:
                self.children[newborn.pid] = newborn
        self.reply(content)
        if content[:1] in (b"W", b"X"):
            self.drop_child(child)
            self.rest()

    def listen(self) -> None:
        """What the children have met, or the server says that gdb speaks with."""
        for child in list(self.children.values()):
            if not child.runs:
                continue
            content = child.event()
            if content is None and child.gone:  # its supervisor was killed, and with it the process
                content = b"X09;process:%x" % child.pid
            if content is not None:
                self.child_event(child, content)
                return

    # -- bytes -----------------------------------------------------------------------------------

    def receive(self, data: bytes) -> None:
        """Bytes have come; what they ask for is answered by ``send``, now or when the program has stopped."""
        before: bytes | Signal | None = None
        for item in self._reader.feed(data):
            if self._closed:
                return
            again, before = item == before, item
            if again and self._acknowledges and isinstance(item, bytes):
                # Nobody can have read an answer in between: gdb has not seen it taken for two seconds
                # (remotetimeout), and takes one more answer for that to its next packet.
                self._send(b"+")
            elif item is Signal.INTERRUPT:
                self.interrupt()
            elif item is Signal.DAMAGED:
                if self._acknowledges:
                    self._send(b"-")
            elif item is Signal.NACK:
                if self._acknowledges and self._last:
                    self._send(self._last)
            elif isinstance(item, bytes):
                if self._acknowledges:
                    self._send(b"+")
                self._answer(item)
                if self._runs():
                    self._is_looked_at = False
                    if self._interrupt_waits:
                        self._interrupt_waits = False
                        self.interrupt()

    def closed(self) -> None:
        """The other side is gone: the program goes on as if it had never been there."""
        self.files.close_all()
        if self._closed:
            return
        self._closed = True
        self._forget_children()
        if self._attached:
            self._leave()
        elif not self._is_left:  # commands of the monitor were all
            self.debugger.stop_waiting()

    def reply(self, content: bytes) -> None:
        """Send a packet."""
        self._last = packets.frame(content)
        self._send(self._last)

    def stop_acknowledging(self) -> None:
        """The connection loses nothing: no more ``+`` and ``-``."""
        self.reply(OK)
        self._acknowledges = self._reader.check = False

    def write(self, text: str) -> None:
        """Text for gdb's console, while a command of the monitor runs."""
        data = text.encode("utf-8", "surrogateescape")
        for at in range(0, len(data), PACKET_SIZE // 2 - 16):
            self.reply(b"O" + data[at : at + PACKET_SIZE // 2 - 16].hex().encode())

    def _answer(self, content: bytes) -> None:
        packet = _find(content)
        if self.descent is not None and content.startswith(TAKE):
            self.descent.take(content[len(TAKE) :])
            return
        if packet is None:
            self.reply(UNSUPPORTED)
            return
        leaves = packet.prefix == b"D"
        if packet.stops and not self._attached and not leaves and not self._is_left:
            self.attach()
        if packet.stops and self._attached and not self._stopped:
            if not leaves:
                return  # it runs; nothing but an interruption is expected
            self.halt()
        try:
            if self.children and family.route(self, packet.prefix, content):
                return
            if self._is_left and (packet.stops or packet.prefix == b"qRcmd,") and not leaves:
                raise Refused(3)
            answer = self.answer(packet, content)
        except Refused as refused:
            answer = refused.reply
        except (ValueError, IndexError, OverflowError):  # garbage
            answer = b"E16"
        if answer is not None and not self._closed:
            self.reply(answer)

    def answer(self, packet: Packet, content: bytes) -> bytes | None:
        """What a packet asks for of this process; it raises what its handler does."""
        answer = packet.handler(self, content[len(packet.prefix) :])
        if packet.stops and content.startswith(b"Q"):
            self._settings[packet.prefix] = content
        return answer

    def ask(self, content: bytes) -> bytes:
        """The answer to a packet that no client has sent."""
        packet = _find(content)
        return (packet and self.answer(packet, content)) or b"E01"

    # -- attaching and leaving -------------------------------------------------------------------

    def attach(self) -> None:
        """Take the program in hand: it stops, and events are told here."""
        if self._attached:
            return
        self._attached = True
        self.debugger.attach(self)
        self.debugger.tell_of_forks(self.forks)
        self.halt()
        self._stop = self.debugger.take_event(lambda thread: thread.why not in _OF_CHILDREN)
        self._interrupt_waits = False

    def halt(self) -> None:
        """Stop the program, if it runs."""
        if not self._stopped:
            self._stopped = True
            self.debugger.stop_all()

    def _leave(self) -> None:
        if not self._attached:
            return
        self._attached = False
        self.watches.forget()
        self.debugger.detach()
        if self._stopped:
            self._stopped = False
            self.debugger.resume_all()

    def detach(self, rest: bytes) -> bytes | None:
        """``D[;PID]``."""
        self._check_process(rest)
        if self.supervisor.fifos is not None:
            self.supervisor.fifos.reset_output("gdb detaching from process")
        self.reply(OK)
        if self.children and rest:  # one that is not followed, and is yet to be left
            self._leave()
            self._is_left = True
            return None
        self.closed()
        return None

    def kill(self, rest: bytes) -> bytes | None:
        """``k``: gdb expects no answer and has gone; lldb wants to hear of the end."""
        self.reply(b"X09")
        self._kill()
        return None

    def _kill(self) -> None:
        """At once, with status 0; children, too."""
        self._closed = True
        for child in self.children.values():
            child.stop()
            child.ask(b"vKill;%x" % child.pid)
        self._forget_children()
        self.files.close_all()
        self.supervisor.end_client()

    def kill_process(self, rest: bytes) -> bytes | None:
        """``vKill;PID``."""
        self._check_process(rest)
        self.reply(OK)
        if self.children:  # as above
            self._is_left = True
            self.supervisor.end_client(silent=False)
        else:
            self._kill()
        return None

    def _check_process(self, rest: bytes) -> None:
        """Behind a packet about a process; Refused if it is another one."""
        if rest and int(rest.removeprefix(b";"), 16) != self.supervisor.client.pid:
            raise Refused(1)

    # -- events ----------------------------------------------------------------------------------

    def look_at(self) -> None:
        """gdb reads the list of threads: an interruption that has crossed this stop has what it wanted."""
        self._is_looked_at, self._interrupt_waits = True, False

    def _runs(self) -> bool:
        return self._attached and (not self._stopped or any(child.runs for child in self.children.values()))

    def interrupt(self) -> None:
        """Ctrl-C in gdb.

        It may cross a stop that is none for the user (a condition does not hold, it steps over a breakpoint):
        gdb goes on from those at once, and is stopped there. At others it looks at the threads first.
        """
        running = [child for child in self.children.values() if child.runs]
        if not self._runs():
            self._interrupt_waits = self._attached and not self._is_looked_at and self.descent is None
            return
        if self._stopped:  # gdb waits for a stop of those that it has let go on
            content = running[0].interrupt()
            self._interrupt_waits = not content.startswith(b"T02")
            self.child_event(running[0], content)
            return
        self.halt()
        if self._closed:  # it has ended meanwhile, which is told
            return
        if (thread := self.debugger.take_event(lambda thread: not thread.kept)) is not None:
            self._interrupt_waits = self.descent is None
            self.event(thread)
            return
        self.stop_children()
        self._stop = None
        self._signal = _INTERRUPT
        self._general = 0
        self.chosen = None
        self.reply(self.stop_reply())

    def event(self, thread: Thread) -> None:
        """A thread has met something; all others stop, too, and the debugger hears of it."""
        self._stop = thread
        self.halt()
        self.stop_children()
        if (ended := self._ended_child()) is not None:
            self.debugger.put_back(thread)
            self.child_event(ended, ended.told.pop(0))
            return
        self.debugger.forget_events()
        self._general = self.resuming = 0
        self.chosen = None  # gdb takes the thread of a stop for chosen
        self.reply(self.stop_reply())

    def ended(self, status: int, signal: int) -> None:
        """The program has ended."""
        if self._closed or not self._attached:
            return
        content = b"X%02x" % signals.to_gdb(signal) if signal else b"W%02x" % (status & 0xFF)
        if self.multiprocess:
            content += b";process:%x" % self.supervisor.client.pid
        if self.heir() is not None:
            self.stop_children()
            self.leave_to_heir(content, ends=True)
            return
        self.reply(content)
        self._attached = False
        self._is_left = bool(self.children)
        self._closed = not self._is_left

    def tells_first(self) -> bool:
        """Whether the others have ended, too, which gdb is to hear from us: nobody else would be left."""
        if self._closed or not self._attached:
            return False
        self.stop_children()
        return self.heir() is None and any(child.told for child in self.children.values())

    def tell_first(self) -> None:
        """Of one that has ended."""
        child = next(child for child in self.children.values() if child.told)
        content = child.event()
        assert content is not None
        self.child_event(child, content)

    def executed(self) -> bool:
        """Another program runs in the process; gdb hears of it if it knows such events."""
        self._target = None
        self._stop = None
        self._stopped = False
        self.watches.forget()
        for prefix, content in self._settings.items():
            _BY_PREFIX[prefix].handler(self, content[len(prefix) :])
        self._executed = self.follows_exec
        return self._executed

    def stop_reply(self) -> bytes:
        """``T``: why and where the program stands."""
        thread = self._stop
        extra = b""
        signal = self._signal
        if thread is not None:
            signal = thread.detail if thread.why == lib.IP_DBG_SIGNAL else _TRAP
            if thread.why == lib.IP_DBG_BREAK and self.swbreak:
                extra = b"swbreak:;"
            elif thread.why == lib.IP_DBG_WATCHED:
                extra = self.watches.reason(thread.detail)
            elif thread.why == lib.IP_DBG_ENTRY:
                extra = b"syscall_entry:%x;" % thread.detail
            elif thread.why == lib.IP_DBG_RETURN:
                extra = b"syscall_return:%x;" % thread.detail
            elif thread.why in (lib.IP_DBG_FORKED, lib.IP_DBG_VFORKED):
                self._newborn(thread)
                name = b"fork" if thread.why == lib.IP_DBG_FORKED else b"vfork"
                extra = b"%b:p%x.%x;" % (name, thread.detail, thread.detail)
            elif thread.why == lib.IP_DBG_VFORK_DONE:
                extra = b"vforkdone:;"
            elif thread.why == lib.IP_DBG_CREATED:
                extra = b"create:;"
            elif thread.why == lib.IP_DBG_EXITED:
                return b"w%02x;%b" % (thread.detail & 0xFF, self.thread_id(thread.tid))
        else:
            thread = self.thread()
        if thread is None:
            return b"W00"
        if self._executed:
            self._executed = False
            extra = b"exec:%b;" % queries.program_path(self).hex().encode()
        extra += b"thread:%b;" % self.thread_id(thread.tid)
        for register in ("rbp", "rsp", "rip"):
            number = self.target.by_name[register]
            value = thread.read(self.target.registers[number])
            if value is not None:
                extra += b"%x:%b;" % (number, value.hex().encode())
        return b"T%02x%b" % (signals.to_gdb(signal), extra)

    def _newborn(self, thread: Thread) -> None:
        way = self.debugger.way_of(thread)
        if self.descent is not None:
            if way >= 0:
                self.descent.send_with_next(way)
        elif thread.detail not in self.children:
            if thread.why == lib.IP_DBG_VFORKED and way >= 0:
                self.children[thread.detail] = vforks.own_child(self, thread, way)
            else:
                self.children[thread.detail] = child_at(thread.detail, way)

    # -- threads ---------------------------------------------------------------------------------

    @property
    def target(self) -> Target:
        """The registers there are."""
        if self._target is None:
            components = 3
            for thread in self.debugger.threads():
                if thread.held and thread.why != lib.IP_DBG_UNPARKED:
                    components = thread.state.components
                    break
            core = self.supervisor.config.core
            self._target = Target(components, core.vgdb_shadow_registers)
        return self._target

    def thread_id(self, tid: int) -> bytes:
        """A thread as the protocol names it."""
        return b"p%x.%x" % (self.supervisor.client.pid, tid) if self.multiprocess else b"%x" % tid

    def parse_thread(self, text: bytes) -> int:
        """The kernel's number of a thread; 0: any, -1: all. Raises Refused for one of another process."""
        if text.startswith(b"p"):
            process, _, text = text[1:].partition(b".")
            if process not in (b"-1", b"0") and int(process, 16) != self.supervisor.client.pid:
                raise Refused(1)
            text = text or b"-1"
        tid = -1 if text == b"-1" else int(text, 16)
        if tid < -1:
            raise Refused(1)
        return tid

    def thread(self, tid: int | None = None) -> Thread | None:
        """A thread by its number, or the one that requests are about."""
        wanted = self._general if tid is None else tid
        threads = self.debugger.threads()
        if wanted > 0:
            return next((thread for thread in threads if thread.tid == wanted), None)
        if self._stop is not None:
            for thread in threads:
                if thread.index == self._stop.index:
                    return thread
        return threads[0] if threads else None

    def current(self) -> Thread:
        """The thread that ``H g`` has chosen; raises Refused if it is gone."""
        thread = self.thread()
        if thread is None:
            raise Refused(3)
        return thread

    def name(self, thread: Thread) -> str:
        """What the program, or the kernel, calls the thread."""
        name = self.supervisor.thread_names.get(thread.number)
        if name:
            return name
        try:
            with open(f"/proc/{self.supervisor.client.pid}/task/{thread.tid}/comm", "rb") as file:
                return file.read().decode("utf-8", "replace").rstrip("\n")
        except OSError:
            return ""

    def describe(self, thread: Thread) -> str:
        """Our number of the thread, its state in Valgrind's words, and its name."""
        name = self.name(thread)
        return f"tid {thread.number} VgTs_{thread.doing()}" + (f" {name}" if name else "")

    def why(self, rest: bytes) -> bytes:
        """``?``."""
        return self.stop_reply()

    def select_thread(self, rest: bytes) -> bytes:
        """``H``."""
        tid = self.parse_thread(rest[1:])
        if tid > 0 and self.thread(tid) is None:
            raise Refused(3)
        if rest[:1] == b"g":
            self._general = max(tid, 0)
        elif rest[:1] == b"c":
            self.resuming = tid
        else:
            raise Refused(1)
        return OK

    def is_alive(self, rest: bytes) -> bytes:
        """``T``."""
        tid = self.parse_thread(rest)
        if self.thread(tid) is None:
            raise Refused(3)
        return OK

    # -- going on --------------------------------------------------------------------------------

    def resume(self, plan: Callable[[Thread], tuple[int, int, tuple[int, int]] | None]) -> bytes | None:
        """Go on; ``plan`` says for each thread how (``IP_DBG_GO_*``, signal, range), or None: it stays."""
        if self.told:
            self.stop_children()
            if (ended := self._ended_child()) is not None:
                self.child_event(ended, ended.told.pop(0))
                return None
            return self.told.pop(0)
        held = [thread for thread in self.debugger.threads() if thread.held]
        goes = {thread.index for thread in held if plan(thread) is not None}
        pending = self.debugger.take_event(lambda thread: thread.index in goes)
        if pending is not None:  # it has happened before the program goes on
            self.event(pending)
            return None
        left = []
        for thread in held:
            how = plan(thread)
            if how is None:
                left.append(thread)
            else:
                thread.go, thread.signal, thread.span = how
        goes_on = any(thread.go == lib.IP_DBG_GO for thread in held if thread not in left)
        if goes_on:
            self.debugger.mind_signals()
        self._stop = None
        self._signal = _TRAP
        self._stopped = False
        self.debugger.keep(left)
        self.debugger.resume_all()
        return None

    # -- breakpoints ------------------------------------------------------------------------------

    def breaks_wanted(self, address: int, wanted: bool) -> None:
        """A breakpoint comes or goes; the same one twice is one."""
        if wanted == (address in self.debugger.breaks):
            return
        if wanted:
            self.debugger.set_break(address)
        else:
            self.debugger.clear_break(address)


def _find(content: bytes) -> Packet | None:
    """The kind of packet that this content is of: the one with the longest prefix."""
    for packet in _BY_LENGTH:
        if content.startswith(packet.prefix):
            return packet
    return None


PACKETS = (
    Packet(b"?", Server.why),
    Packet(b"g", registers.read_registers),
    Packet(b"G", registers.write_registers),
    Packet(b"p", registers.read_register),
    Packet(b"P", registers.write_register),
    Packet(b"m", memory.read_hex),
    Packet(b"M", memory.write_hex),
    Packet(b"x", memory.read_binary),
    Packet(b"X", memory.write_binary),
    Packet(b"c", going.go_on),
    Packet(b"C", going.go_on_with_signal),
    Packet(b"s", going.step),
    Packet(b"S", going.step_with_signal),
    Packet(b"T", Server.is_alive),
    Packet(b"H", Server.select_thread),
    Packet(b"D", Server.detach),
    Packet(b"k", Server.kill, stops=False),
    Packet(b"vKill", Server.kill_process, stops=False),
    Packet(b"vCont?", lambda server, rest: b"vCont;c;C;s;S;r", stops=False),
    Packet(b"vCont;", going.vcont),
    Packet(b"Z", points.insert),
    Packet(b"z", points.remove),
    Packet(b"vFile:", files.host_files, stops=False),
    Packet(b"qMemoryRegionInfo:", regions.region),
    *(Packet(prefix, handler, stops) for prefix, handler, stops in queries.QUERIES),
)
"""Every packet that is answered; all others get the empty reply."""

_BY_PREFIX = {packet.prefix: packet for packet in PACKETS}
_BY_LENGTH = sorted(PACKETS, key=lambda packet: -len(packet.prefix))
