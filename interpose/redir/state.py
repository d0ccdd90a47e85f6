"""The redirection state: which specifications are known, and which bindings follow from them.

See docs/spec/redirection.md section 4.

The set of active bindings is a function of the mapped objects (in the order of their mapping), the
hardwired rules and the reported targets of indirect functions:

- A specification claims every address at which a matching symbol starts. Claims on an address are judged in
  the order in which they were made: the first holds, until one of the same non-zero class tag with a higher
  priority comes. Of the user's that one object makes at once on a function of several names (`open` and
  `open64`), the one for the name that reports would choose is first.
- A wrapper of the tool's, which only looks at arguments, gives way to whatever the user has for the function.
- A wrapper does not compete with a replacement of the tool's: it goes around it (``ActiveBinding.inner``).
  Valgrind 3.19 lets the later rule win and the wrapper call the function that the tool wanted replaced, so
  that a tool knows nothing of the block that a wrapped malloc returned.
- An address that is the resolver of an indirect function is not bound itself: the winner of its claims goes
  on to claim the functions that the resolver was seen to return. Such a claim is made when it returns: where
  `memcpy` and `memmove` are one function, the user's wrapper of the one that was resolved first holds.

Each event recomputes only the addresses whose claims it touched, and looks at the objects that have a part in
it: a program may map thousands one by one.
"""

from __future__ import annotations

from _operator import attrgetter
from bisect import bisect_left
from itertools import repeat

from interpose.ranges import Ranges
from interpose.redir import trace
from interpose.redir.change import Change, Message, MissingText
from interpose.redir.family import Family, family_key
from interpose.redir.index import UNRANKED, SymbolIndex
from interpose.redir.links import Links
from interpose.redir.model import UNKNOWN, ActiveBinding, CodeObject, Conflict, Specification, Verdict
from interpose.redir.options import RequiredText, Synonyms
from interpose.zenc import Kind, NotRedirectNameError, RedirectName, ReservedSonameError, ZencError, parse

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Set
    from dataclasses import dataclass, field
    from types import MappingProxyType

    from interpose.redir.index import NameRank
else:
    from interpose.records import dataclass, field

    MappingProxyType = type(type.__dict__)

_REDIRECT_PREFIX = "_vg"
_NOWHERE = 1 << 64
_address = attrgetter("address")
_NOTHING: frozenset[Specification] = frozenset()


@dataclass(slots=True)
class _Update:
    """What an event has touched so far."""

    dirty: set[int] = field(default_factory=set)
    notes: list[Message] = field(default_factory=list)
    specs_added: list[Specification] = field(default_factory=list)
    specs_removed: list[Specification] = field(default_factory=list)
    missing: list[MissingText] = field(default_factory=list)
    added: list[ActiveBinding] = field(default_factory=list)
    removed: list[ActiveBinding] = field(default_factory=list)
    ifunc_added: list[ActiveBinding] = field(default_factory=list)
    ifunc_removed: list[ActiveBinding] = field(default_factory=list)
    conflicts: list[Conflict] = field(default_factory=list)


def _verdict(earlier: Specification, later: Specification) -> Verdict:
    if later.outranks(earlier):
        return Verdict.PREFERRED
    if later.tag == earlier.tag != 0:
        return Verdict.LOWER if later.priority < earlier.priority else Verdict.DUPLICATE
    return Verdict.CONFLICT


def _winner(ranked: Iterable[Specification]) -> Specification | None:
    """Who holds an address of those that claim it, first come first."""
    holder: Specification | None = None
    for spec in ranked:
        if holder is None or spec.outranks(holder):
            holder = spec
    return holder


def _compare(
    ranked: tuple[Specification, ...],
    fresh: Set[Specification],
    binding: Callable[[Specification], ActiveBinding],
    update: _Update,
) -> Specification:
    """Who holds an address; the conflicts that are new are noted."""
    winner = ranked[0]
    for rival in ranked[1:]:
        verdict = _verdict(winner, rival)
        if rival in fresh or winner in fresh:
            conflict = Conflict(verdict, binding(winner), binding(rival))
            update.conflicts.append(conflict)
            update.notes += trace.conflict_messages(conflict)
        if verdict is Verdict.PREFERRED:
            winner = rival
    return winner


def _specs(binding: ActiveBinding | None) -> tuple[Specification | None, ...]:
    """The rules that a binding carries out."""
    return (None, None) if binding is None else (binding.spec, binding.inner)


class RedirState:
    """Specifications and active bindings. Every method that alters the state returns a `Change`."""

    def __init__(
        self,
        synonyms: Synonyms | None = None,
        required: Iterable[RequiredText] = (),
        tells_additions: bool = True,
    ) -> None:
        """Without ``tells_additions`` no message says that a binding was added, the usual case."""
        self._tells_additions = tells_additions
        self._synonyms = synonyms or Synonyms()
        self._required = tuple(required)
        self._next_order = 0
        self._indexes: dict[CodeObject, SymbolIndex] = {}  # in the order of mapping
        self._specs: dict[Specification, None] = {}  # an ordered set
        self._families: dict[tuple[str, bool], Family] = {}
        self._owned: dict[CodeObject, list[Specification]] = {}
        # Who claims an address; and what each claims in an object, with the names of the matching symbols.
        self._claims: dict[int, tuple[Specification, ...]] = {}
        self._claimed: dict[Specification, dict[CodeObject, dict[int, str]]] = {}
        self._claiming: dict[CodeObject, dict[Specification, None]] = {}
        self._searched: dict[SymbolIndex, None] = {}  # what has tables to let go of
        self._spared: CodeObject | None = None
        self._fixed: set[int] = set()  # addresses bound for good; they may lie in any object or in none
        self._text: Ranges[CodeObject] = Ranges()
        # Reported targets of indirect functions, both ways.
        self._targets = Links()
        self._resolvers_of = Links()
        self._reported: dict[tuple[int, int], int] = {}  # when, by resolver and target
        # All claims on an address at its last judgement: they tell a new conflict from one already shown.
        self._judged: dict[int, tuple[Specification, ...]] = {}
        self._bindings: dict[int, ActiveBinding] = {}
        self._pending: dict[int, ActiveBinding] = {}

    # -- What is known -----------------------------------------------------------------------------

    @property
    def active(self) -> Mapping[int, ActiveBinding]:
        """The bindings in effect, by address."""
        return MappingProxyType(self._bindings)

    @property
    def pending_ifuncs(self) -> Mapping[int, ActiveBinding]:
        """The resolvers of redirected indirect functions, by address; their results are to be reported."""
        return MappingProxyType(self._pending)

    @property
    def specifications(self) -> tuple[Specification, ...]:
        """All specifications, in the order in which they became known."""
        return tuple(self._specs)

    @property
    def objects(self) -> tuple[CodeObject, ...]:
        """All mapped objects, in the order of their mapping."""
        return tuple(self._indexes)

    def object_at(self, address: int) -> CodeObject | None:
        """Return the object whose text contains ``address``."""
        return self._text.at(address)

    def address_of(self, name: str, obj: CodeObject) -> int | None:
        """Return the address of the first text symbol of a mapped object that has exactly that name."""
        return self._search(self._indexes[obj]).named(name) if obj.may_hold(name) else None

    def _search(self, index: SymbolIndex) -> SymbolIndex:
        """The index, which will make tables to look into."""
        self._searched[index] = None
        return index

    def ifunc_targets(self, resolver: ActiveBinding | int) -> tuple[int, ...]:
        """Return the functions that a resolver was seen to return, ascending."""
        address = resolver if isinstance(resolver, int) else resolver.address
        return tuple(sorted(self._targets.of(address)))

    def trace_lines(self, reason: trace.Reason) -> list[str]:
        """Return what ``--trace-redir=yes`` prints after an event, without line prefixes."""
        bindings = [*self._bindings.values(), *self._pending.values()]
        return trace.state_lines(reason, self._indexes, self._specs, bindings)

    # -- Events ------------------------------------------------------------------------------------

    def add_object(self, obj: CodeObject) -> Change:
        """Take note of a mapped object: its specifications, and its functions as targets of all others.

        A mapping over known text implies that this was unmapped.
        """
        update = _Update()
        for start, end in obj.text_ranges:
            self._drop_range(start, end, update)
        index = self._indexes[obj] = self._search(SymbolIndex(obj))
        for start, end in obj.text_ranges:
            self._text.add(start, end, obj)
        update.dirty.update(filter(obj.contains, self._fixed))
        for family in self._families.values():
            self._claim_family(family, obj, index, update)
        self._add_specifications(list(self._read_specifications(obj, index, update)), update)
        for required in self._required:
            if required.applies_to(obj.soname) and not index.has(required.function):
                update.missing.append(MissingText(obj, required))
        change = self._settle(update)
        for index in self._searched:
            index.release()
        self._searched.clear()
        return change

    def remove_object(self, obj: CodeObject) -> Change:
        """Forget an unmapped object; raise KeyError if it is not known."""
        if obj not in self._indexes:
            raise KeyError(f"{obj.path} is not mapped")
        update = _Update()
        self._drop_object(obj, update)
        return self._settle(update)

    def remove_range(self, start: int, end: int) -> Change:
        """Forget every object with text in [start, end), also one that goes only in part."""
        update = _Update()
        self._drop_range(start, end, update)
        return self._settle(update)

    def add_specification(
        self,
        soname: str,
        function: str,
        target: int,
        *,
        kind: Kind = Kind.REPLACE,
        tag: int = 0,
        priority: int = 0,
        size: int = 0,
        target_name: str = UNKNOWN,
    ) -> Change:
        """Add a hardwired rule, one that no object carries. An unknown synonym as soname drops it.

        Raises ValueError for a class tag or priority out of range.
        """
        update = _Update()
        name = RedirectName(kind, soname, function, tag, priority)
        spec = self._specification(name, target, size, target_name, None)
        self._add_specifications([] if spec is None else [spec], update)
        return self._settle(update)

    def add_rules(
        self, owner: CodeObject, rules: Iterable[tuple[RedirectName, int, str]], spared: CodeObject
    ) -> Change:
        """Add rules that no symbol states, with their targets and the targets' names.

        ``owner``, which has no text of its own, stands for where they come from; the functions of ``spared``,
        which has their targets, are not for them.
        """
        update = _Update()
        self._spared = spared
        self._indexes[owner] = SymbolIndex(owner)
        specs = [self._specification(name, target, 0, shown, owner) for name, target, shown in rules]
        self._add_specifications([spec for spec in specs if spec is not None], update)
        return self._settle(update)

    def bind_address(
        self, address: int, target: int, *, kind: Kind = Kind.REPLACE, target_name: str = UNKNOWN
    ) -> Change:
        """Bind an address that no symbol names, for good (the functions of the vsyscall page)."""
        update = _Update()
        spec = Specification(self._take_order(), kind, "", "", target, target_name=target_name)
        if spec.may_bind(address):
            self._claims[address] = (*self._claims.get(address, ()), spec)
            self._fixed.add(address)
            update.dirty.add(address)
        return self._settle(update)

    def add_ifunc_target(self, resolver: int, target: int) -> Change:
        """Take note that the resolver at an address returned ``target``.

        Any resolver may be reported: one that no rule claims yet is remembered for rules that come later.
        """
        update = _Update()
        if target not in self._targets.of(resolver) and self.object_at(resolver) is not None:
            self._targets.add(resolver, target)
            self._resolvers_of.add(target, resolver)
            self._reported[resolver, target] = self._take_order()
            update.dirty.add(target)
            pending = self._pending.get(resolver)
            if pending is not None and pending.spec.may_bind(target):
                update.notes.append(trace.ifunc_target_message(resolver, target, pending))
        return self._settle(update)

    # -- Specifications and claims -----------------------------------------------------------------

    def _take_order(self) -> int:
        self._next_order += 1
        return self._next_order

    def _read_specifications(
        self, obj: CodeObject, index: SymbolIndex, update: _Update
    ) -> Iterable[Specification]:
        if not (obj.may_hold(f"{_REDIRECT_PREFIX}r") or obj.may_hold(f"{_REDIRECT_PREFIX}w")):
            return
        seen: set[tuple[str, int]] = set()  # .symtab and .dynsym both list a global symbol
        names: list[tuple[int, int, RedirectName]] = []
        for hit in index.candidates(_REDIRECT_PREFIX):
            symbol = hit.symbol.name.partition("@")[0]
            if (symbol, hit.address) in seen:
                continue
            seen.add((symbol, hit.address))
            if index.is_resolver(hit.address):
                text = f"WARNING: redirect symbol is an indirect function -- ignoring it: {symbol}"
                update.notes.append(Message(1, text))
                continue
            try:
                name = parse(symbol)
            except NotRedirectNameError:
                continue
            except ReservedSonameError as error:
                update.notes.append(Message(0, str(error)))
                continue
            except ZencError:
                update.notes.append(Message(-1, f"m_demangle: error Z-demangling: {symbol}"))
                continue
            names.append((hit.address, hit.symbol.size, name))
        # Of rules of one object the one with the highest target came first, as in Valgrind's tables.
        for address, size, name in sorted(names, key=lambda row: -row[0]):
            spec = self._specification(name, address, size, name.function, obj)
            if spec is not None:
                yield spec

    def _specification(
        self, name: RedirectName, target: int, size: int, target_name: str, owner: CodeObject | None
    ) -> Specification | None:
        """Return the rule that ``name`` states for ``target``; None where it names an unknown synonym."""
        rule = self._synonyms.resolve(name.soname)
        if rule is None:
            return None
        return Specification(
            self._take_order(),
            name.kind,
            rule.soname,
            name.function,
            target,
            size,
            name.tag,
            name.priority,
            rule.global_only,
            target_name,
            owner,
        )

    def _add_specifications(self, specs: Iterable[Specification], update: _Update) -> None:
        fresh: dict[tuple[str, bool], Family] = {}
        for spec in specs:
            self._specs[spec] = None
            self._claimed[spec] = {}
            if spec.owner is not None:
                self._owned.setdefault(spec.owner, []).append(spec)
            update.specs_added.append(spec)
            key = family_key(spec)
            for families in (self._families, fresh):
                if key not in families:
                    families[key] = Family(key)
                families[key].add(spec)
        for family in fresh.values():
            for obj, index in self._indexes.items():
                self._claim_family(family, obj, index, update)

    def _claim_family(self, family: Family, obj: CodeObject, index: SymbolIndex, update: _Update) -> None:
        if not family.wants(obj):
            return
        is_read = index.is_read
        # To look into the string tables is for objects that need not be read.
        if not is_read and not family.may_match(obj):
            return
        for spec, piece in family.pieces.items():
            if (is_read and piece == spec.function) or obj.may_hold_piece(piece):
                self._claim(spec, obj, index, update)
                is_read = index.is_read

    def _claim(self, spec: Specification, obj: CodeObject, index: SymbolIndex, update: _Update) -> None:
        claimed = self._search(index).claimed(spec.function, spec.global_only)
        if spec.wants_original:
            if obj is self._spared:
                return
            for address in claimed.keys() & index.unfit_for_hooks():
                del claimed[address]
        own, end = spec.own_range
        for address in [address for address in claimed if own <= address < end]:
            del claimed[address]
        if not claimed:
            return
        self._claimed[spec][obj] = claimed
        self._claiming.setdefault(obj, {})[spec] = None
        others = {address: self._claims[address] for address in self._claims.keys() & claimed.keys()}
        self._claims.update(dict.fromkeys(claimed, (spec,)))
        for address, rivals in others.items():
            self._claims[address] = (*rivals, spec)
        update.dirty.update(claimed)

    def _drop_range(self, start: int, end: int, update: _Update) -> None:
        hit = dict.fromkeys(self._text.within(start, end))
        if len(hit) > 1:
            hit = {obj: None for obj in self._indexes if obj in hit}
        for obj in hit:
            self._drop_object(obj, update)
        for target in self._resolvers_of.among(start, end):
            self._drop_target(target, update)

    def _drop_object(self, obj: CodeObject, update: _Update) -> None:
        for spec in self._owned.pop(obj, ()):
            self._drop_specification(spec, update)
        for spec in self._claiming.pop(obj, ()):
            self._drop_claims(spec, self._claimed[spec].pop(obj), update)
        for start, end in obj.text_ranges:
            for resolver in self._targets.among(start, end):
                self._drop_resolver(resolver, update)
            for target in self._resolvers_of.among(start, end):
                self._drop_target(target, update)
            self._text.drop(start, end)
        update.dirty.update(filter(obj.contains, self._fixed))
        self._searched.pop(self._indexes.pop(obj), None)

    def _drop_specification(self, spec: Specification, update: _Update) -> None:
        del self._specs[spec]
        update.specs_removed.append(spec)
        key = family_key(spec)
        self._families[key].remove(spec)
        if not self._families[key].pieces:
            del self._families[key]
        for obj, claimed in self._claimed.pop(spec).items():
            del self._claiming[obj][spec]
            self._drop_claims(spec, claimed, update)

    def _drop_resolver(self, resolver: int, update: _Update) -> None:
        for target in self._targets.pop(resolver):
            self._resolvers_of.discard(target, resolver)
            del self._reported[resolver, target]
            update.dirty.add(target)

    def _drop_claims(self, spec: Specification, addresses: Iterable[int], update: _Update) -> None:
        claims = self._claims
        for address in addresses:
            claimants = claims[address]
            if len(claimants) == 1:
                del claims[address]
            else:
                claims[address] = tuple(other for other in claimants if other is not spec)
        update.dirty.update(addresses)

    def _drop_target(self, target: int, update: _Update) -> None:
        for resolver in self._resolvers_of.pop(target):
            self._targets.discard(resolver, target)
            del self._reported[resolver, target]
        update.dirty.add(target)

    # -- Judgement ---------------------------------------------------------------------------------

    def _places(self, addresses: Iterable[int]) -> Iterator[tuple[list[int], CodeObject | None, list[int]]]:
        """Addresses, ascending, by the object that they are in, and which of them are resolvers."""
        ascending = sorted(addresses)
        done = 0
        while done < len(ascending):
            first = ascending[done]
            _, end, obj = self._text.range_at(first) or (first, self._text.next_start(first, _NOWHERE), None)
            before, done = done, bisect_left(ascending, end, done)
            found = ascending[before:done]
            yield found, obj, [] if obj is None else self._indexes[obj].resolvers_among(found)

    def _settle(self, update: _Update) -> Change:
        """Judge every dirty address anew and return what came of the event."""
        places = list(self._places(update.dirty))
        count = len(update.dirty)
        for _, obj, resolvers in places:
            for resolver in resolvers:
                before = self._pending.get(resolver)
                self._judge(resolver, obj, self._named_claims(resolver, obj), True, update)
                after = self._pending.get(resolver)
                if _specs(before) != _specs(after):
                    update.dirty.update(self._targets.of(resolver))
        if len(update.dirty) > count:
            places = list(self._places(update.dirty))
        for addresses, obj, resolvers in places:
            # A resolver that went with its object is judged here, as an address without claims.
            self._judge_all(addresses, obj, frozenset(resolvers), update)
        return Change(
            added=tuple(update.added),
            removed=tuple(update.removed),
            ifunc_added=tuple(update.ifunc_added),
            ifunc_removed=tuple(update.ifunc_removed),
            specs_added=tuple(update.specs_added),
            specs_removed=tuple(update.specs_removed),
            conflicts=tuple(update.conflicts),
            messages=tuple(update.notes),
            missing=tuple(update.missing),
        )

    def _judge_all(
        self, addresses: list[int], obj: CodeObject | None, resolvers: Set[int], update: _Update
    ) -> None:
        """Judge those of ascending addresses that are no resolvers; what nobody claims, or one rule alone, in
        bulk.
        """
        claims, judged, bindings = self._claims, self._judged, self._bindings
        special = resolvers | self._fixed | set(self._resolvers_of.among(addresses[0], addresses[-1] + 1))
        alone: dict[tuple[Specification, ...], list[int]] = {}
        tells, before = self._tells_additions, len(update.added)
        for address in addresses:
            claimants = claims.get(address, ())
            if address in special or len(claimants) > 1 or (claimants and (tells or address in judged)):
                if address not in resolvers:
                    self._judge(address, obj, self._claims_through_resolvers(address, obj), False, update)
            elif claimants:
                if claimants in alone:
                    alone[claimants].append(address)
                else:
                    alone[claimants] = [address]
            else:
                judged.pop(address, None)
                self._note(bindings.pop(address, None) or self._pending.pop(address, None), None, update)
        for claimants, claimed in alone.items():
            assert obj is not None  # nobody claims an address outside of all objects but for good
            judged.update(dict.fromkeys(claimed, claimants))
            fresh = self._lone_bindings(claimants[0], obj, claimed)
            bindings.update(zip(claimed, fresh, strict=True))
            update.added += fresh
        update.added[before:] = sorted(update.added[before:], key=_address)

    def _lone_bindings(
        self, spec: Specification, obj: CodeObject, addresses: list[int]
    ) -> list[ActiveBinding]:
        """What `_binding` makes of each address."""
        names = self._claimed[spec][obj]
        rows = zip(
            addresses,
            repeat(spec.target),
            repeat(spec.kind),
            repeat(spec.tag),
            repeat(spec.priority),
            repeat(spec),
            map(names.__getitem__, addresses),
            repeat(obj.soname),
            repeat(False),
            repeat(None),
        )
        return list(map(ActiveBinding._make, rows))

    def _note(self, old: ActiveBinding | None, new: ActiveBinding | None, update: _Update) -> None:
        """A binding has gone, come, or become another one."""
        if old == new:
            return
        if old is not None:
            (update.ifunc_removed if old.is_ifunc else update.removed).append(old)
        if new is not None:
            (update.ifunc_added if new.is_ifunc else update.added).append(new)
            if self._tells_additions:
                update.notes += trace.added_messages(new)

    def _named_claims(self, address: int, obj: CodeObject | None) -> dict[Specification, str]:
        """The claims on an address from symbols, with the symbols' names."""
        return {spec: self._claim_name(spec, address, obj) for spec in self._claims.get(address, ())}

    def _claim_name(self, spec: Specification, address: int, obj: CodeObject | None) -> str:
        objects = self._claimed.get(spec)
        # Without one it is the rule of an address that is bound for good.
        return UNKNOWN if objects is None or obj is None else objects[obj][address]

    def _claims_through_resolvers(self, address: int, obj: CodeObject | None) -> dict[Specification, str]:
        """Return all claims on an address: from symbols, and from resolvers that returned it."""
        claims = self._named_claims(address, obj)
        for resolver in self._resolvers_of.of(address):
            pending = self._pending.get(resolver)
            for spec in () if pending is None else (pending.spec, pending.inner):
                if spec is not None and spec not in claims and spec.may_bind(address):
                    claims[spec] = self._name_at(address)
        return claims

    def _in_order(
        self, address: int, obj: CodeObject | None, claims: Iterable[Specification]
    ) -> tuple[Specification, ...]:
        """Several claims on one address, the first first; without the tool's wrappers if the user has any."""
        ranked = sorted(claims, key=lambda spec: self._place(spec, address, obj))
        if any(spec.is_users for spec in ranked):
            ranked = [spec for spec in ranked if not spec.is_tools_wrapper]
        return tuple(ranked)

    def _place(
        self, spec: Specification, address: int, obj: CodeObject | None
    ) -> tuple[int, int, NameRank, int]:
        """Where a claim on an address stands among others: when it was made, then for which name.

        What the tool brings knows of functions with several names, and hooks are in the order of their
        definition.
        """
        owner = spec.owner
        if owner is None or owner.is_tools or spec.wants_original:
            return spec.order, 0, UNRANKED, spec.order
        known = self._owned[owner][0].order
        if obj is not None and spec in self._claims.get(address, ()):
            index = self._search(self._indexes[obj])
            return known, 0, index.rank(spec.function, spec.global_only, address), spec.order
        reported = min(
            self._reported[resolver, address]
            for resolver in self._resolvers_of.of(address)
            for pending in (self._pending.get(resolver),)
            if pending is not None and spec in _specs(pending)
        )
        return max(known, reported), reported, UNRANKED, spec.order

    def _name_at(self, address: int) -> str:
        obj = self.object_at(address)
        return UNKNOWN if obj is None else self._search(self._indexes[obj]).name_at(address)

    def _judge(
        self,
        address: int,
        obj: CodeObject | None,
        claims: Mapping[Specification, str],
        is_ifunc: bool,
        update: _Update,
    ) -> None:
        before = self._judged.pop(address, ())
        new: ActiveBinding | None = None
        if claims:
            ranked = tuple(claims) if len(claims) == 1 else self._in_order(address, obj, claims)
            self._judged[address] = ranked
            soname = UNKNOWN if obj is None else obj.soname
            fresh = set(ranked).difference(before) if len(ranked) > 1 else _NOTHING

            def binding(spec: Specification, inner: Specification | None = None) -> ActiveBinding:
                return self._binding(address, claims, soname, is_ifunc, spec, inner)

            inner: Specification | None = None
            wraps = tuple(spec for spec in ranked if spec.kind is Kind.WRAP)
            if wraps and len(wraps) < len(ranked):
                replacements = tuple(spec for spec in ranked if spec.kind is Kind.REPLACE)
                first = _winner(replacements)
                if first is not None and first.is_tools:
                    inner = first
                    _compare(replacements, fresh, binding, update)
                    ranked = wraps
            new = binding(_compare(ranked, fresh, binding, update), inner=inner)
        old = self._bindings.pop(address, None) or self._pending.pop(address, None)
        if new is not None:
            (self._pending if is_ifunc else self._bindings)[address] = new
        self._note(old, new, update)

    @staticmethod
    def _binding(
        address: int,
        claims: Mapping[Specification, str],
        soname: str,
        is_ifunc: bool,
        spec: Specification,
        inner: Specification | None = None,
    ) -> ActiveBinding:
        return ActiveBinding(
            address,
            spec.target,
            spec.kind,
            spec.tag,
            spec.priority,
            spec,
            claims[spec],
            soname,
            is_ifunc,
            inner,
        )
