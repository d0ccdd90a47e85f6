"""One process's bindings: what the redirection core makes of its objects, put into effect in the process."""

from __future__ import annotations

import contextlib

from interpose.errors import MissingTextError
from interpose.native.objects import JUMP, NO_ROOM, SHORT_JUMP, rooms
from interpose.native.threads import kept_out
from interpose.native.wire import HOOKS, REPLACES, WRAPS, Claim
from interpose.redir import (
    Kind,
    Reason,
    RedirState,
    RequiredText,
    Synonyms,
    first_use_line,
    missing_text_lines,
)
from interpose.wildcards import literal_prefix

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Container, Sequence

    from interpose.hooks.bind import Fates
    from interpose.hooks.registry import Registry
    from interpose.native.objects import Loaded, Reader, Room
    from interpose.native.wire import Connection, Greeting, Linked
    from interpose.options.parse import Config
    from interpose.redir import ActiveBinding, Change, CodeObject
    from interpose.report.log import Log

_TOO_SHORT, _NOWHERE = 4, 5
_WHY = {
    1: "no memory for it within 2 GiB",
    2: "its first instructions cannot be moved",
    3: "something else has replaced its first instructions",
    _TOO_SHORT: "a jump needs five bytes, and after {} something else begins or is jumped to",
    _NOWHERE: "an indirect function chose it, and it is in no object",
}


class Process:
    """The redirection state of one process, told of each change of its objects."""

    def __init__(self, config: Config, log: Log, reader: Reader, pid: int) -> None:
        core = config.core
        self.pid = pid
        self._log = log
        self._reader = reader
        self._verbosity = core.verbosity
        self._trace = core.trace_redir
        required = [RequiredText.parse(text) for text in core.require_text_symbol or ()]
        self._redir = RedirState(
            Synonyms.parse(core.soname_synonyms), required, tells_additions=core.verbosity > 2
        )
        self._loaded: dict[Linked, Loaded] = {}
        self._fresh = True
        self._refused: dict[int, Claim] = {}
        self._silent = False
        self._entries = 0
        self._awaited: dict[int, Claim] = {}
        """What stands before the first constructor of objects that have indirect functions to be bound."""
        self._fates: Fates | None = None

    @property
    def binds(self) -> int:
        """How many bindings are in effect."""
        return len(self._redir.active) - len(self._refused)

    @property
    def linked(self) -> list[Linked]:
        """The objects, in the order of mapping."""
        return list(self._loaded)

    def inherited(self, objects: list[Linked]) -> None:
        """A forked child: what it has of its parent is neither shown nor done again."""
        self._silent = True
        try:
            self._take_objects(objects)
        finally:
            self._silent = False
            self._fresh = False

    def bind_hooks(self, registry: Registry, entries: int) -> None:
        """Add the rules of all hooks, before those of any object: their targets are entries of the stubs."""
        from interpose.hooks.bind import Fates, rules

        self._entries = entries
        self._fates = Fates()
        owner, found = rules(registry, entries)
        self._note(self._redir.add_rules(owner, found, owner))

    def find(self, name: str, among: Container[Linked] | None = None) -> int:
        """Address of a function by its symbol, in the order of loading; 0 if no object has it.

        ``among``: the objects that a forked child has of this process.
        """
        for linked, loaded in self._loaded.items():
            if among is not None and linked not in among:
                continue
            address = self._redir.address_of(name, loaded.obj)
            if address is not None:
                return address
        return 0

    def binding(self, address: int) -> tuple[str, str] | None:
        """Function and soname of a bound address."""
        bound = self._redir.active.get(address)
        return None if bound is None else (bound.symbol, bound.soname)

    def changed(self, connection: Connection, greeting: Greeting, linker: int, spared: set[int]) -> None:
        """Follow what the dynamic linker did.

        ``linker`` is the load address of that itself; ``spared`` are the threads that take part in this.
        """
        if self._fresh and self._trace:
            self._print(Reason.INITIALISE)
        added = self._take_objects(_in_order(greeting.objects, linker))
        connection.patch([place for loaded in added for place in loaded.markers])
        self._find_resolved(connection, added, greeting.initialise)
        self._put_into_effect(connection, greeting.bound, spared)
        self._fresh = False

    def unbound_hooks(self, registry: Registry) -> list[str]:
        """Lines that name the hooks that were never bound."""
        return [] if self._fates is None else self._fates.unbound_lines(registry, self._entries)

    # -- the state -----------------------------------------------------------------------------------

    def _take_objects(self, order: list[Linked]) -> list[Loaded]:
        now = set(order)
        for linked in [linked for linked in self._loaded if linked not in now]:
            self._note(self._redir.remove_object(self._loaded.pop(linked).obj))
            if self._trace:
                self._print(Reason.DELETED_OBJECT)
        added = self._reader.read(self.pid, [linked for linked in order if linked not in self._loaded])
        for loaded in added:
            self._loaded[loaded.linked] = loaded
            self._note(self._redir.add_object(loaded.obj))
            if self._trace:
                self._print(Reason.NEW_OBJECT)
        return added

    def _print(self, reason: Reason) -> None:
        if not self._silent:
            for line in self._redir.trace_lines(reason):
                self._log.debug(line)

    def _note(self, change: Change) -> None:
        for message in change.messages:
            if self._verbosity > message.level and not self._silent:
                (self._log.debug if message.debug else self._log.plain)(message.text)
        if self._fates is not None:
            self._fates.note(change, self._entries)
        if change.missing:
            raise MissingTextError(*missing_text_lines(change.missing))

    def _find_resolved(self, connection: Connection, added: Sequence[Loaded], initialise: int) -> None:
        """Ask the resolvers of redirected indirect functions what they choose.

        They may be called once their object is linked. Those of a dlopen() under way are not: they are asked
        when the object's first constructor is about to run.
        """
        unlinked = [] if self._fresh else added
        waiting = []
        for address in self._redir.pending_ifuncs:
            if self._redir.ifunc_targets(address):
                continue
            owner = next((loaded for loaded in unlinked if loaded.obj.contains(address)), None)
            if owner is None:
                waiting.append(address)
            elif first := owner.first_constructor:
                room = rooms(owner, [first])[first]
                self._awaited[first] = Claim(first, initialise, HOOKS, *room)
        for resolver, target in zip(waiting, connection.resolve(waiting), strict=True):
            self._note(self._redir.add_ifunc_target(resolver, target))

    # -- the process ---------------------------------------------------------------------------------

    def _put_into_effect(self, connection: Connection, bound: Sequence[Claim], spared: set[int]) -> None:
        active, mapped = self._redir.active, self._redir.object_at
        self._awaited = {a: c for a, c in self._awaited.items() if a not in active and mapped(a) is not None}
        kept = {c.address for c in bound if c in self._awaited.values() or _is_for(c, active.get(c.address))}
        gone = [claim.address for claim in bound if claim.address not in kept]
        connection.unbind([address for address in gone if mapped(address) is not None])
        connection.forget([address for address in gone if mapped(address) is None])
        self._refused = {a: c for a, c in self._refused.items() if _is_for(c, active.get(a))}
        fresh = [b for a, b in active.items() if a not in kept and a not in self._refused]
        claims = self._claims(fresh)
        asked = [
            claim
            for claim in (*claims, *(c for a, c in self._awaited.items() if a not in kept))
            if claim.room >= JUMP or claim.cave
        ]
        overwritten = [
            (claim.address + 1, claim.address + (SHORT_JUMP if claim.cave else claim.room)) for claim in asked
        ]
        with kept_out(self.pid, spared, overwritten) if asked else contextlib.nullcontext():
            answers = dict(zip(asked, connection.bind(asked), strict=True))
        by_pattern = 0
        for binding, claim in zip(fresh, claims, strict=True):
            failed = answers.get(claim, _TOO_SHORT if mapped(claim.address) is not None else _NOWHERE)
            if failed:
                self._refused[claim.address] = claim
                if self._verbosity < 2 and literal_prefix(binding.spec.function) != binding.spec.function:
                    by_pattern += 1
                    continue
                names = binding if failed != _NOWHERE else binding.spec
                name = binding.symbol if failed != _NOWHERE else binding.spec.function
                where = f"{names.soname}:{name} (0x{claim.address:x})"
                why = _WHY.get(failed, str(failed)).format(claim.room)
                self._log.plain(f"Warning: cannot redirect {where}: {why}")
            elif self._verbosity > 1:
                self._log.debug(first_use_line(binding))
        if by_pattern and self._verbosity > 0:
            text = (
                f"Warning: cannot redirect {by_pattern} of the functions that patterns match (-v names them)"
            )
            self._log.plain(text)

    def _claims(self, bindings: Sequence[ActiveBinding]) -> list[Claim]:
        loaded = {each.obj: each for each in self._loaded.values()}
        by_object: dict[CodeObject, list[int]] = {}
        for binding in bindings:
            obj = self._redir.object_at(binding.address)
            if obj is not None:
                by_object.setdefault(obj, []).append(binding.address)
        room: dict[int, Room] = {}
        for obj, addresses in by_object.items():
            room.update(rooms(loaded[obj], addresses))
        return [Claim(b.address, b.target, _wraps(b), *room.get(b.address, NO_ROOM)) for b in bindings]


def _wraps(binding: ActiveBinding) -> int:
    if binding.spec.wants_original:
        return HOOKS
    return WRAPS if binding.kind is Kind.WRAP else REPLACES


def _is_for(claim: Claim, binding: ActiveBinding | None) -> bool:
    """Whether this is what a binding asks for."""
    if binding is None:
        return False
    return (claim.target, claim.wraps) == (binding.target, _wraps(binding))


def _in_order(linked: Sequence[Linked], linker: int) -> list[Linked]:
    """The dynamic linker is mapped right after the program, but links itself last."""
    first = [each for each in linked if each.bias == linker]
    others = [each for each in linked if each.bias != linker]
    return [*others[:1], *first, *others[1:]]
