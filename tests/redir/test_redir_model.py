"""Random maps and unmaps: the incremental state must equal a recomputation from nothing.

The oracle below shares no code with the package but the data classes that carry input and the parser of
names, which has tests of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interpose.redir import ActiveBinding, Change, CodeObject, Kind, RedirState, Symbol, Synonyms
from interpose.zenc import NotRedirectNameError, parse

PAGE = 0x1000
SLOTS = 4
STEP = 0x40
OFFSETS = range(0, 0x100, STEP)
# Few names and many patterns that take most of them: what is to be tested is how claims meet.
SONAMES = ["liba.so", "liba.so.1", "NONE", "ld-linux.so.2"]
COMMON_SONAMES = ["Za", "libaZdsoZa"]
RARE_SONAMES = ["NONE", "lib?Zdso", "VgSoSynsomalloc", "VgSoSynalias", "VgSoSynno"]
FUNCTIONS = ["f", "g", "f@V1", "g@@V2", "fg"]
COMMON_FUNCTIONS = ["f", "f?", "Za"]
RARE_FUNCTIONS = ["g", "fZa", "h", "ZaZAZa", "fZAV1", "gZAZAV2"]
CLASSES = ["11110", "11111", "11112", "22220", "00000"]
SYNONYMS = {"alias": "liba*"}


class Rule(NamedTuple):
    """What the oracle knows of a specification."""

    number: int
    known: int
    soname: str
    function: str
    target: int
    size: int
    tag: int
    priority: int
    global_only: bool
    wraps: bool = False
    is_tools: bool = False
    is_users: bool = False


class Report(NamedTuple):
    """What a resolver returned."""

    resolver: int
    target: int


Place = tuple[int, int, tuple[float, int, int, str], int]
"""Where a claim stands among others on its address: when it was made, for which name, by which rule."""
NAMELESS = (0.0, 0, 0, "")


def wild(pattern: str, text: str) -> bool:
    if not pattern:
        return not text
    if pattern[0] == "*":
        return wild(pattern[1:], text) or (text != "" and wild(pattern, text[1:]))
    return text != "" and pattern[0] in ("?", text[0]) and wild(pattern[1:], text[1:])


Target = tuple[int, int | None]
"""Where a binding leads, and the tool's replacement that it goes around."""


def target_of(binding: ActiveBinding) -> Target:
    return binding.target, binding.inner and binding.inner.target


class Oracle:
    """Everything that was announced, and the bindings that follow from it by brute force."""

    def __init__(self) -> None:
        self.history: list[CodeObject | Rule | Report] = []  # in order; rules are the hardwired ones

    @property
    def objects(self) -> list[CodeObject]:
        return [item for item in self.history if isinstance(item, CodeObject)]

    def unmap(self, start: int, end: int) -> None:
        gone = [obj for obj in self.objects if any(lo < end and start < hi for lo, hi in obj.text_ranges)]
        holes = [(start, end), *(r for obj in gone for r in obj.text_ranges)]
        self.history = [
            item
            for item in self.history
            if item not in gone
            and not (isinstance(item, Report) and any(lo <= a < hi for a in item for lo, hi in holes))
        ]

    def inside(self, obj: CodeObject, symbol: Symbol) -> bool:
        address = symbol.address + obj.load_bias
        return symbol.is_text and any(lo <= address < hi for lo, hi in obj.text_ranges)

    def rules(self) -> list[Rule]:
        found: list[Rule] = []
        for known, item in enumerate(self.history):
            if isinstance(item, Rule):
                found.append(item._replace(number=len(found), known=known))
            if not isinstance(item, CodeObject):
                continue
            seen = set()
            for symbol in sorted(item.symbols, key=lambda symbol: -symbol.address):
                key = (symbol.name, symbol.address)
                resolver = any(
                    s.address == symbol.address and s.is_ifunc and self.inside(item, s) for s in item.symbols
                )
                if not self.inside(item, symbol) or resolver or key in seen:
                    continue
                seen.add(key)
                try:
                    name = parse(symbol.name)
                except NotRedirectNameError:
                    continue
                soname, global_only = name.soname, False
                if soname.startswith("VgSoSyn"):
                    if soname == "VgSoSynsomalloc":
                        soname, global_only = "*", True
                    elif soname[7:] in SYNONYMS:
                        soname = SYNONYMS[soname[7:]]
                    else:
                        continue
                target = symbol.address + item.load_bias
                found.append(
                    Rule(
                        len(found),
                        known,
                        soname,
                        name.function,
                        target,
                        symbol.size,
                        name.tag,
                        name.priority,
                        global_only,
                        name.kind is Kind.WRAP,
                        item.is_tools,
                        not item.is_tools,
                    )
                )
        return found

    @staticmethod
    def matches(rule: Rule, obj: CodeObject, symbol: Symbol) -> bool:
        if rule.global_only and (not symbol.is_global or wild("ld*.so*", obj.soname)):
            return False
        name = symbol.name if "@" in rule.function else symbol.name.split("@")[0]
        if "@" in rule.function and "@" not in symbol.name:
            return False
        return wild(rule.soname, obj.soname) and wild(rule.function, name)

    @staticmethod
    def winner(rules: list[Rule]) -> Rule | None:
        holder: Rule | None = None
        for rule in rules:
            if holder is None or (
                rule.tag == holder.tag and rule.tag > 0 and rule.priority > holder.priority
            ):
                holder = rule
        return holder

    @classmethod
    def holders(cls, claims: dict[Rule, Place]) -> tuple[Rule | None, Rule | None]:
        """Who holds an address, and the replacement that it goes around."""
        rules = sorted(claims, key=claims.__getitem__)
        if any(rule.is_users for rule in rules):
            rules = [rule for rule in rules if not (rule.wraps and rule.is_tools)]
        wraps = [rule for rule in rules if rule.wraps]
        replacement = cls.winner([rule for rule in rules if not rule.wraps])
        if wraps and replacement is not None and replacement.is_tools:
            return cls.winner(wraps), replacement
        return cls.winner(rules), None

    @staticmethod
    def place(rule: Rule, symbol: Symbol) -> Place:
        """Of a claim on the function of a symbol; the tool's own keep their order."""
        if not rule.is_users:
            return rule.known, 0, NAMELESS, rule.number
        bare = symbol.name.split("@")[0]
        size = float(symbol.size) if symbol.size else float("inf")
        return rule.known, 0, (size, len(bare), len(bare) - len(symbol.name), symbol.name), rule.number

    @staticmethod
    def place_of_target(rule: Rule, reported: int) -> Place:
        """Of a claim on what a resolver returned."""
        if not rule.is_users:
            return rule.known, 0, NAMELESS, rule.number
        return max(rule.known, reported), reported, NAMELESS, rule.number

    def bindings(self) -> tuple[dict[int, Target], dict[int, Target]]:
        """Return the active bindings and the pending resolvers, address to target."""
        claims: dict[int, dict[Rule, Place]] = {}
        resolvers: set[int] = set()
        for obj in self.objects:
            for symbol in filter(lambda s, o=obj: self.inside(o, s), obj.symbols):
                address = symbol.address + obj.load_bias
                if symbol.is_ifunc:
                    resolvers.add(address)
                for rule in self.rules():
                    spared = rule.target <= address < rule.target + max(1, rule.size)
                    if not spared and self.matches(rule, obj, symbol):
                        place, known = self.place(rule, symbol), claims.setdefault(address, {})
                        known[rule] = min(place, known.get(rule, place))
        pending = {a: self.holders(claims.pop(a)) for a in resolvers if claims.get(a)}
        through: dict[int, dict[Rule, Place]] = {}
        for when, item in enumerate(self.history):
            if not isinstance(item, Report) or item.target in resolvers:
                continue
            for rule in filter(None, pending.get(item.resolver, ())):
                if not rule.target <= item.target < rule.target + max(1, rule.size):
                    place = self.place_of_target(rule, when)
                    through.setdefault(item.target, {}).setdefault(rule, place)
        for target, found in through.items():
            claims[target] = {**found, **claims.get(target, {})}
        active = {a: self.holders(rules) for a, rules in claims.items() if rules}
        return _targets(active), _targets(pending)


def _targets(holders: dict[int, tuple[Rule | None, Rule | None]]) -> dict[int, Target]:
    return {
        address: (rule.target, inner and inner.target) for address, (rule, inner) in holders.items() if rule
    }


def redirect_names() -> st.SearchStrategy[str]:
    return st.builds(
        "_vg{}{}ZZ_{}_{}".format,
        st.sampled_from("rw"),
        st.sampled_from(CLASSES),
        st.sampled_from(COMMON_SONAMES) | st.sampled_from(RARE_SONAMES),
        st.sampled_from(COMMON_FUNCTIONS) | st.sampled_from(RARE_FUNCTIONS),
    )


SYMBOLS = st.builds(
    Symbol,
    name=st.sampled_from(FUNCTIONS) | redirect_names(),
    address=st.sampled_from(OFFSETS).map(lambda offset: offset + 0x100),
    size=st.sampled_from([0, STEP // 2, 2 * STEP]),
    is_global=st.booleans(),
    is_ifunc=st.sampled_from([False, False, False, True]),
    is_text=st.sampled_from([True] * 7 + [False]),
)


def build(slot: int, half: bool, soname: str, symbols: list[Symbol], is_tools: bool) -> CodeObject:
    start = 0x100000 + slot * PAGE
    ranges = (
        [(start + 0x100, start + 0x200)] if half else [(start, start + 0x280), (start + 0x280, start + PAGE)]
    )
    return CodeObject(f"/slot{slot}", ranges, symbols, soname, start, is_tools=is_tools)


SYMBOL_LISTS = st.lists(SYMBOLS, min_size=2, max_size=6)
OBJECTS = st.builds(
    build,
    st.integers(0, SLOTS - 1),
    st.booleans(),
    st.sampled_from(SONAMES),
    SYMBOL_LISTS,
    st.sampled_from([False, False, True]),
)
ADDRESSES = st.builds(
    lambda slot, offset: 0x100000 + slot * PAGE + 0x100 + offset,
    st.integers(0, SLOTS - 1),
    st.sampled_from(OFFSETS),
)
MAPS = st.tuples(st.just("map"), OBJECTS)
IFUNCS = st.tuples(st.just("ifunc"), st.tuples(st.integers(0, 3), ADDRESSES))
UNMAPS = st.tuples(st.just("unmap"), st.integers(0, SLOTS - 1))
RANGES = st.tuples(st.just("range"), st.tuples(ADDRESSES, st.sampled_from([1, STEP, 2 * PAGE])))
HARDWIRED = st.tuples(
    st.just("hard"), st.tuples(st.sampled_from(["*", "liba.so*"]), st.sampled_from(["f", "f@*"]))
)
EVENTS = st.builds(
    lambda first, then: first + then,
    st.lists(MAPS, min_size=2, max_size=4),
    st.lists(st.one_of(IFUNCS, IFUNCS, MAPS, UNMAPS, RANGES, HARDWIRED), min_size=2, max_size=10),
)


def run_event(state: RedirState, oracle: Oracle, kind: str, data: object) -> Change | None:
    """Tell both sides of one event; None if it does not apply."""
    if kind == "map":
        assert isinstance(data, CodeObject)
        for start, end in data.text_ranges:
            oracle.unmap(start, end)
        oracle.history.append(data)
        return state.add_object(data)
    if kind == "unmap":
        assert isinstance(data, int)
        if not oracle.objects:
            return None
        obj = oracle.objects[data % len(oracle.objects)]
        for start, end in obj.text_ranges:
            oracle.unmap(start, end)
        return state.remove_object(obj)
    assert isinstance(data, tuple)
    if kind == "range":
        start, length = data
        oracle.unmap(start, start + length)
        return state.remove_range(start, start + length)
    if kind == "ifunc":
        which, target = data
        # Mostly a resolver that some rule wants, at times one that none wants yet.
        known = sorted(oracle.bindings()[1]) + [
            symbol.address + obj.load_bias
            for obj in oracle.objects
            for symbol in obj.symbols
            if symbol.is_ifunc and oracle.inside(obj, symbol)
        ]
        if not known:
            return None
        resolver = known[which % len(known)]
        report = Report(resolver, target)
        if report not in oracle.history:
            oracle.history.append(report)
        return state.add_ifunc_target(resolver, target)
    soname, function = data
    oracle.history.append(Rule(0, 0, soname, function, 0x999, 0, 0, 0, False))
    return state.add_specification(soname, function, 0x999)


def apply(mirror: dict[int, Target], added: tuple, removed: tuple) -> None:
    for binding in removed:
        assert mirror.pop(binding.address) == target_of(binding)
    for binding in added:
        assert binding.address not in mirror
        mirror[binding.address] = target_of(binding)


@pytest.mark.parametrize("tells_additions", [True, False])
@settings(deadline=None, max_examples=500)
@given(events=EVENTS)
def test_incremental_state_equals_recomputation(
    events: list[tuple[str, object]], tells_additions: bool
) -> None:
    state, oracle = RedirState(Synonyms(SYNONYMS), tells_additions=tells_additions), Oracle()
    active: dict[int, Target] = {}
    pending: dict[int, Target] = {}
    for kind, data in events:
        change = run_event(state, oracle, kind, data)
        if change is None:
            continue
        apply(active, change.added, change.removed)
        apply(pending, change.ifunc_added, change.ifunc_removed)
        expected_active, expected_pending = oracle.bindings()
        assert {a: target_of(b) for a, b in state.active.items()} == expected_active
        assert {a: target_of(b) for a, b in state.pending_ifuncs.items()} == expected_pending
        assert (active, pending) == (expected_active, expected_pending), "the changes add up to the state"
        assert list(state.objects) == oracle.objects
        assert [s.target for s in state.specifications] == [r.target for r in oracle.rules()]
    for obj in state.objects:
        state.remove_object(obj)
    assert (state.active, state.pending_ifuncs, state.objects) == ({}, {}, ())


def described(change: Change) -> tuple[object, ...]:
    """A change without the identities of the rules."""
    parts = (change.added, change.removed, change.ifunc_added, change.ifunc_removed)
    conflicts = [(c.verdict, c.old[:5], c.new[:5]) for c in change.conflicts]
    bindings = [[(b[:5], b[6:9], b.inner and b.inner.target) for b in part] for part in parts]
    notes = [
        m for m in change.messages if not m.text.startswith("Adding active") and "    new: " not in m.text
    ]
    return bindings, conflicts, notes


@settings(deadline=None, max_examples=200)
@given(events=EVENTS)
def test_bindings_that_are_not_told_come_as_those_that_are(events: list[tuple[str, object]]) -> None:
    """Those are made in bulk: the order is the same, and so is whatever else there is to say."""
    told, quiet = RedirState(), RedirState(tells_additions=False)
    oracles = Oracle(), Oracle()
    for kind, data in events:
        changes = [run_event(s, o, kind, data) for s, o in zip((told, quiet), oracles, strict=True)]
        assert len({change is None for change in changes}) == 1
        if changes[0] is not None and changes[1] is not None:
            assert described(changes[0]) == described(changes[1])
