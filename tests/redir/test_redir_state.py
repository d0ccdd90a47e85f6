"""The rules of redirection, one by one (docs/spec/redirection.md section 4)."""

from __future__ import annotations

import pytest

from interpose.redir import (
    Change,
    CodeObject,
    Kind,
    RedirState,
    RequiredText,
    Symbol,
    Synonyms,
    Verdict,
    missing_text_lines,
)


def make(base: int, *symbols: Symbol | str, soname: str | None = "NONE", path: str = "/o") -> CodeObject:
    """An object of one page of text at ``base``; a plain string is a function in the next 16 bytes."""
    listed = [
        s if isinstance(s, Symbol) else Symbol(s, 0x10 * position, 0x10) for position, s in enumerate(symbols)
    ]
    return CodeObject(path, [(base, base + 0x1000)], listed, soname, base)


def bound(state: RedirState) -> dict[int, int]:
    return {address: binding.target for address, binding in state.active.items()}


def texts(change: Change, level: int) -> list[str]:
    return [m.text for m in change.messages if m.level <= level]


APP, LIB, W1, W2, W3 = 0x10000, 0x20000, 0x30000, 0x40000, 0x50000


def test_a_wrapper_is_bound_to_its_function() -> None:
    state = RedirState()
    app = make(APP, "main", "foo")
    assert state.add_object(app) == Change()
    change = state.add_object(make(W1, "_vgw00000ZU_NONE_foo", soname="w.so"))
    assert bound(state) == {APP + 0x10: W1}
    (binding,) = change.added
    assert (binding.kind, binding.tag, binding.priority) == (Kind.WRAP, 0, 0)
    assert (binding.symbol, binding.soname, binding.is_ifunc) == ("foo", "NONE", False)
    assert binding.spec in change.specs_added
    assert change.addresses == (APP + 0x10,)
    assert change.removed == change.conflicts == ()


@pytest.mark.parametrize("users", ["_vgw00000ZU_NONE_foo", "_vgr00000ZU_NONE_foo"])
def test_a_wrapper_of_the_tools_gives_way_to_the_users(users: str) -> None:
    state, symbol = RedirState(), Symbol("_vgw00000ZU_NONE_foo", W1, 16)
    state.add_object(CodeObject("stubs", ((W1, W1 + 0x1000),), [symbol], "stubs", is_tools=True))
    state.add_object(make(APP, "main", "foo"))
    assert bound(state) == {APP + 0x10: W1}
    wrappers = make(W2, users, soname="w.so")
    assert state.add_object(wrappers).conflicts == ()
    assert bound(state) == {APP + 0x10: W2}
    state.remove_object(wrappers)
    assert bound(state) == {APP + 0x10: W1}


def test_load_and_unload_in_any_order() -> None:
    """The scenario of manual section 3.3.3, dlopen and dlclose of function and wrapper."""
    state = RedirState()
    obj, wrappers = make(LIB, "function1", soname="object1.so"), make(W1, "_vgw00000ZZ_object1Zdso_function1")
    state.add_object(obj)
    state.add_object(wrappers)
    assert bound(state) == {LIB: W1}
    change = state.remove_object(wrappers)
    assert [b.address for b in change.removed] == [LIB]
    assert [s.target for s in change.specs_removed] == [W1]
    assert bound(state) == {}
    state.add_object(wrappers)
    assert bound(state) == {LIB: W1}
    change = state.remove_object(obj)
    assert [b.address for b in change.removed] == [LIB]
    assert bound(state) == {}
    assert len(state.specifications) == 1, "the wrapper is remembered"
    moved = make(APP, "function1", soname="object1.so")
    assert [b.target for b in state.add_object(moved).added] == [W1]
    assert bound(state) == {APP: W1}


def test_first_claim_stays_and_the_conflict_is_told_once() -> None:
    state = RedirState()
    state.add_object(make(W1, "_vgw00000ZU_NONE_foo", soname="w1.so"))
    change = state.add_object(make(W2, "_vgr00000ZU_NONE_foo", soname="w2.so"))
    assert change.conflicts == ()
    change = state.add_object(make(APP, "foo"))
    assert bound(state) == {APP: W1}
    assert [c.verdict for c in change.conflicts] == [Verdict.CONFLICT]
    assert texts(change, 1) == [
        "WARNING: new redirection conflicts with existing -- ignoring it",
        "    old: 0x00010000 (foo                 ) W-> (0000.0) 0x00030000 foo",
        "    new: 0x00010000 (foo                 ) R-> (0000.0) 0x00040000 foo",
    ]
    assert [m.debug for m in change.messages if m.level == 1] == [False, True, True]
    change = state.add_object(make(W3, "_vgw00000ZU_NONE_foo", soname="w3.so"))
    told = [(c.old.target, c.new.target) for c in change.conflicts]
    assert told == [(W1, W3)], "the old conflict is not repeated"
    assert change.added == change.removed == ()


def test_a_later_claim_takes_over_when_the_first_goes() -> None:
    state = RedirState()
    first, second = make(W1, "_vgw00000ZU_NONE_foo"), make(W2, "_vgr00000ZU_NONE_foo")
    for obj in (make(APP, "foo"), first, second):
        state.add_object(obj)
    change = state.remove_object(first)
    assert [b.target for b in change.removed] == [W1]
    assert [(b.target, b.kind) for b in change.added] == [(W2, Kind.REPLACE)]
    assert change.conflicts == ()
    assert bound(state) == {APP: W2}
    # Back again, it is the newcomer.
    change = state.add_object(first)
    assert bound(state) == {APP: W2}
    assert [(c.old.target, c.new.target) for c in change.conflicts] == [(W2, W1)]


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("12340", "12341", Verdict.PREFERRED),
        ("12348", "12349", Verdict.PREFERRED),
        ("12341", "12340", Verdict.LOWER),
        ("12341", "12341", Verdict.DUPLICATE),
        ("12341", "12359", Verdict.CONFLICT),
        ("12341", "00000", Verdict.CONFLICT),
        ("00000", "12349", Verdict.CONFLICT),
        ("00000", "00000", Verdict.CONFLICT),
    ],
)
def test_tags_and_priorities(old: str, new: str, verdict: Verdict) -> None:
    state = RedirState()
    state.add_object(make(APP, "foo"))
    state.add_object(make(W1, f"_vgr{old}ZU_NONE_foo"))
    change = state.add_object(make(W2, f"_vgr{new}ZU_NONE_foo"))
    assert bound(state) == {APP: W2 if verdict is Verdict.PREFERRED else W1}
    assert [c.verdict for c in change.conflicts] == [verdict]
    shown = {
        Verdict.PREFERRED: (1, "Preferring higher priority redirection:"),
        Verdict.CONFLICT: (1, "WARNING: new redirection conflicts with existing -- ignoring it"),
        Verdict.LOWER: (2, "Ignoring lower priority redirection:"),
        Verdict.DUPLICATE: (2, "Ignoring duplicate redirection:"),
    }
    heads = [(m.level, m.text) for m in change.messages if not m.debug]
    assert heads[0] == shown[verdict]
    assert [b.target for b in change.added] == ([W2] if verdict is Verdict.PREFERRED else [])


def test_priority_is_judged_against_the_holder_in_order() -> None:
    """The class of the holder decides: a third claim of another class than the holder's cannot win."""
    state = RedirState()
    state.add_object(make(APP, "foo"))
    holder = make(W1, "_vgr11110ZU_NONE_foo")
    state.add_object(holder)
    state.add_object(make(W2, "_vgr22220ZU_NONE_foo"))
    state.add_object(make(W3, "_vgr22225ZU_NONE_foo"))
    assert bound(state) == {APP: W1}
    state.remove_object(holder)
    assert bound(state) == {APP: W3}


def test_within_an_object_the_highest_target_is_first() -> None:
    """As under Valgrind 3.19 (tests/wrap/test_wrap.py compares)."""
    state = RedirState()
    state.add_object(make(W1, "_vgw00000ZU_NONE_foo", "_vgw00000ZZ_NONE_foZa", soname="w.so"))
    state.add_object(make(APP, "foo", "fox"))
    assert bound(state) == {APP: W1 + 0x10, APP + 0x10: W1 + 0x10}


@pytest.mark.parametrize(
    ("pattern", "soname", "matches"),
    [
        ("libcZdsoZa", "libc.so.6", True),
        ("libcZdsoZa", "libc.so", True),
        ("libcZdsoZa", "libcxso.6", False),
        ("libcZdsoZa", "xlibc.so.6", False),
        ("lib?Zdso", "libq.so", True),
        ("lib?Zdso", "lib.so", False),
        ("Za", "NONE", True),
        ("NONE", "NONE", True),
        ("NONE", None, True),
        ("NONE", "", True),
        ("NONE", "libc.so.6", False),
        ("libstdcZpZpZa", "libstdc++.so.6", True),
    ],
)
def test_soname_patterns(pattern: str, soname: str | None, matches: bool) -> None:
    state = RedirState()
    state.add_object(make(APP, "foo", soname=soname))
    state.add_object(make(W1, f"_vgr00000ZZ_{pattern}_foo", soname="w"))
    assert bound(state) == ({APP: W1} if matches else {})


@pytest.mark.parametrize(
    ("pattern", "name", "matches"),
    [
        ("foo", "foo", True),
        ("foo", "foo@V1", True),
        ("foo", "foo@@V1", True),
        ("fo?", "foo@@V1", True),
        ("foZa", "foo@@V1", True),
        ("ZaV1", "foo@@V1", False),
        ("fooZAZa", "foo@@V1", True),
        ("fooZAZa", "foo@V1", True),
        ("fooZAZa", "foo", False),
        ("fooZAZAV1", "foo@@V1", True),
        ("fooZAV1", "foo@@V1", False),
        ("fooZAV1", "foo@V1", True),
        ("Za", "anything", True),
        ("fZaoZa", "foo", True),
        ("f.o", "foo", False),
    ],
)
def test_function_patterns_and_versions(pattern: str, name: str, matches: bool) -> None:
    state = RedirState()
    state.add_object(make(APP, name))
    state.add_object(make(W1, f"_vgr00000ZZ_NONE_{pattern}", soname="w"))
    assert bound(state) == ({APP: W1} if matches else {})


def test_aliases_are_one_claim() -> None:
    state = RedirState()
    state.add_object(make(APP, Symbol("bar", 0), Symbol("baz", 0), Symbol("bar@@V1", 0)))
    change = state.add_object(make(W1, "_vgr12341ZU_NONE_baz", "_vgr12340ZZ_NONE_baZa", soname="w"))
    assert bound(state) == {APP: W1}
    assert [c.verdict for c in change.conflicts] == [Verdict.PREFERRED]


def test_a_redirect_symbol_listed_twice_is_one_specification() -> None:
    """A global function stands in .symtab and in .dynsym."""
    state = RedirState()
    name = "_vgw00000ZU_NONE_foo"
    state.add_object(make(W1, Symbol(name, 0, 16), Symbol(name, 0, 16), Symbol(f"{name}@@V1", 0, 16)))
    assert len(state.specifications) == 1


def test_only_text_counts() -> None:
    state = RedirState()
    data = Symbol("foo", 0, 8, is_text=False)
    state.add_object(make(APP, data, Symbol("foo", 0x2000, 8)))  # the second is past the text range
    state.add_object(make(W1, Symbol("_vgr00000ZU_NONE_foo", 0, 8, is_text=False)))
    assert state.specifications == ()
    state.add_object(make(W2, "_vgr00000ZU_NONE_foo"))
    assert bound(state) == {}


def test_local_symbols_count_too() -> None:
    state = RedirState()
    state.add_object(make(APP, Symbol("foo", 0, 8, is_global=False)))
    state.add_object(make(W1, Symbol("_vgr00000ZU_NONE_foo", 0, 8, is_global=False)))
    assert bound(state) == {APP: W1}


def test_a_wrapper_redirects_neither_itself_nor_its_inside() -> None:
    state = RedirState()
    wrapper = Symbol("_vgw00000ZZ_Za_Za", 0x100, 0x20)
    inner, beyond = Symbol("label", 0x110), Symbol("next", 0x120)
    state.add_object(make(W1, Symbol("before", 0xF0), wrapper, inner, beyond, Symbol("alias", 0x100)))
    assert bound(state) == {W1 + 0xF0: W1 + 0x100, W1 + 0x120: W1 + 0x100}


def test_a_symbol_without_size_still_spares_itself() -> None:
    state = RedirState()
    state.add_object(make(W1, Symbol("_vgw00000ZZ_Za_Za", 0, 0)))
    assert bound(state) == {}


@pytest.mark.parametrize("name", ["_vgr00001ZU_NONE_foo", "_vgx00000ZU_NONE_foo", "_vgnU_freeres"])
def test_names_that_are_no_redirect_names_are_passed_over(name: str) -> None:
    state = RedirState()
    change = state.add_object(make(W1, name))
    assert (state.specifications, change) == ((), Change())


@pytest.mark.parametrize("name", ["_vgr00000ZZ_NONE_fooZ", "_vgr99990ZU_NONE"])
def test_bad_encodings_are_reported(name: str) -> None:
    state = RedirState()
    change = state.add_object(make(W1, name))
    assert state.specifications == ()
    assert [(m.level, m.text, m.debug) for m in change.messages] == [
        (-1, f"m_demangle: error Z-demangling: {name}", False)
    ]


def test_reserved_soname_is_reported() -> None:
    change = RedirState().add_object(make(W1, "_vgr00000ZU_VG_Z_foo"))
    assert texts(change, 0) == ["symbol with a 'VG_Z_' prefix: _vgr00000ZU_VG_Z_foo"]


# -- Synonyms -------------------------------------------------------------------------------------


MALLOC = "_vgr10010ZU_VgSoSynsomalloc_malloc"


def test_somalloc_by_default_takes_global_symbols_everywhere_but_in_the_dynamic_linker() -> None:
    state = RedirState()
    state.add_object(make(W1, MALLOC, soname="w"))
    assert state.specifications[0].global_only
    state.add_object(make(APP, "malloc"))
    state.add_object(make(LIB, Symbol("malloc", 0, 8, is_global=False), soname="libx.so"))
    for position, linker in enumerate(["ld-linux-x86-64.so.2", "ld-linux.so.2", "ld-2.31.so", "ld.so.1"]):
        state.add_object(make(0x100000 + position * 0x1000, "malloc", soname=linker))
    state.add_object(make(0x200000, "malloc", soname="libld.so"))
    assert bound(state) == {APP: W1, 0x200000: W1}


def test_somalloc_with_a_pattern_is_an_ordinary_rule() -> None:
    state = RedirState(Synonyms.parse("somalloc=NONE"))
    state.add_object(make(W1, MALLOC, soname="w"))
    state.add_object(make(APP, Symbol("malloc", 0, 8, is_global=False)))
    state.add_object(make(LIB, "malloc", soname="libc.so.6"))
    assert bound(state) == {APP: W1}
    state = RedirState(Synonyms.parse("somalloc=ld*"))
    state.add_object(make(W1, MALLOC, soname="w"))
    state.add_object(make(APP, "malloc", soname="ld-linux.so.2"))
    assert bound(state) == {APP: W1}


def test_other_synonyms_need_the_option() -> None:
    rule = make(W1, "_vgw00000ZU_VgSoSynfoo_abs", soname="w")
    state = RedirState()
    state.add_object(rule)
    assert state.specifications == ()
    state = RedirState(Synonyms.parse("bar=x,foo=lib?.so.6,foo=never"))
    state.add_object(rule)
    state.add_object(make(APP, "abs", soname="libc.so.6"))
    state.add_object(make(LIB, "abs", soname="never"))
    assert bound(state) == {APP: W1}


def test_what_is_no_synonym_says_nothing() -> None:
    assert Synonyms.parse("foo,,a=b,") == Synonyms.parse("a=b") != Synonyms()
    assert Synonyms.parse("") == Synonyms()


def test_synonym_of_nothing_matches_no_object() -> None:
    state = RedirState(Synonyms.parse("somalloc="))
    state.add_object(make(W1, MALLOC, soname="w"))
    state.add_object(make(APP, "malloc"))
    assert bound(state) == {}


# -- Hardwired rules, required symbols, ranges ----------------------------------------------------


def test_hardwired_rules_come_first() -> None:
    state = RedirState()
    change = state.add_specification("ld-linux-x86-64.so.2", "strlen", 0x999)
    assert [s.owner for s in change.specs_added] == [None]
    state.add_object(make(LIB, "strlen", soname="ld-linux-x86-64.so.2"))
    state.add_object(make(W1, "_vgr20070ZZ_ldZhlinuxZa_strlen"))
    assert bound(state) == {LIB: 0x999}


def test_a_hardwired_rule_obeys_the_rules_of_classes() -> None:
    with pytest.raises(ValueError, match="0000 demands priority 0"):
        RedirState().add_specification("NONE", "f", 0x999, priority=1)


def test_an_address_binding_survives_what_is_mapped_there() -> None:
    state = RedirState()
    vsyscall = 0xFFFFFFFFFF600000
    change = state.bind_address(vsyscall, 0x999, target_name="gettimeofday")
    assert [(b.symbol, b.soname) for b in change.added] == [("???", "???")]
    page = CodeObject("[vsyscall]", [(vsyscall, vsyscall + 0x1000)], [("x", vsyscall, 1, True, False, True)])
    state.add_object(page)
    assert state.active[vsyscall].soname == "NONE"
    state.remove_object(page)
    assert bound(state) == {vsyscall: 0x999}
    assert state.specifications == ()


def test_required_text_symbol() -> None:
    state = RedirState(required=[RequiredText.parse(":libl*:no?uch"), RequiredText.parse("/NONE/main")])
    assert state.add_object(make(APP, "main")).missing == ()
    lib = make(LIB, "other", Symbol("nosuch", 0x20, is_text=False), soname="libl.so")
    (missing,) = state.add_object(lib).missing
    assert missing.obj is lib
    assert missing_text_lines([missing]) == [
        "",
        " Fatal error at when loading library with soname",
        "    libl.so",
        " Cannot find any text symbol with a name that matches the pattern",
        "    no?uch",
        " as required by a --require-text-symbol= specification.",
        "",
        " Cannot continue -- exiting now.",
        "",
    ]
    assert state.add_object(make(W1, "nosuch", soname="libl2.so")).missing == ()


@pytest.mark.parametrize("value", ["", ":", "xy", ":xy", ":a:", "::b"])
def test_malformed_required_text(value: str) -> None:
    with pytest.raises(ValueError, match="not of the form :sonamepatt:fnnamepatt"):
        RequiredText.parse(value)


def test_required_function_may_hold_the_separator() -> None:
    """C++ names do; Valgrind takes all behind the soname for the function."""
    assert RequiredText.parse(":NONE:a::b(int)*") == RequiredText("NONE", "a::b(int)*")


def test_remove_range_takes_objects_that_it_touches() -> None:
    state = RedirState()
    for base in (APP, LIB):
        state.add_object(make(base, "foo"))
    state.add_object(make(W1, "_vgr00000ZU_NONE_foo"))
    assert state.remove_range(APP - 0x1000, APP) == Change()
    assert state.remove_range(APP + 0x1000, LIB) == Change()
    assert [b.address for b in state.remove_range(APP + 0xFFF, APP + 0x1000).removed] == [APP]
    assert bound(state) == {LIB: W1}
    assert state.object_at(APP) is None
    assert state.object_at(LIB + 0xFFF) is not None


def test_mapping_over_an_object_unmaps_it() -> None:
    state = RedirState()
    state.add_object(make(W1, "_vgr00000ZU_NONE_foo"))
    old = make(APP, "foo")
    state.add_object(old)
    change = state.add_object(make(APP + 0x800, "foo"))
    assert [b.address for b in change.removed] == [APP]
    assert [b.address for b in change.added] == [APP + 0x800]
    with pytest.raises(KeyError, match="not mapped"):
        state.remove_object(old)


# -- Indirect functions ---------------------------------------------------------------------------


def ifunc(name: str, address: int) -> Symbol:
    return Symbol(name, address, 0x10, is_ifunc=True)


def test_an_ifunc_binds_what_its_resolver_returns() -> None:
    state = RedirState()
    libc = make(LIB, ifunc("strlen", 0), Symbol("__strlen_avx2", 0x100), soname="libc.so.6")
    state.add_object(libc)
    wrappers = make(W1, "_vgr20070ZZ_libcZdsoZa_strlen")
    change = state.add_object(wrappers)
    assert bound(state) == {}
    assert change.added == ()
    (pending,) = change.ifunc_added
    assert pending.is_ifunc
    assert state.pending_ifuncs == {LIB: pending}
    assert state.ifunc_targets(pending) == ()
    change = state.add_ifunc_target(LIB, LIB + 0x100)
    (binding,) = change.added
    assert (binding.address, binding.target, binding.symbol) == (LIB + 0x100, W1, "__strlen_avx2")
    assert not binding.is_ifunc
    assert texts(change, 2)[0] == "Adding redirect for indirect function 0x20000 from 0x20100 -> 0x30000"
    assert state.ifunc_targets(pending) == state.ifunc_targets(LIB) == (LIB + 0x100,)
    assert state.add_ifunc_target(LIB, LIB + 0x100) == Change(), "a second report is nothing new"
    # The targets outlive the wrapper, so that it is in effect at once when it comes back.
    change = state.remove_object(wrappers)
    assert ([b.address for b in change.removed], change.ifunc_removed) == ([LIB + 0x100], (pending,))
    change = state.add_object(wrappers)
    assert [b.address for b in change.added] == [LIB + 0x100]
    # They do not outlive the resolver.
    state.remove_object(libc)
    assert (bound(state), state.pending_ifuncs, state.ifunc_targets(LIB)) == ({}, {}, ())


def test_two_ifuncs_with_one_target_are_judged_there() -> None:
    """memcpy and memmove share code: class 2018, priority 1 wins (docs/spec/redirection.md section 6)."""
    for first, second, verdict in ((0x10, 0, Verdict.LOWER), (0, 0x10, Verdict.PREFERRED)):
        state = RedirState()
        state.add_object(make(W1, "_vgr20181ZZ_libcZdsoZa_memmove", "_vgr20180ZZ_libcZdsoZa_memcpy"))
        memcpy, memmove = ifunc("memcpy@@GLIBC_2.14", 0), ifunc("memmove", 0x10)
        state.add_object(make(LIB, memcpy, memmove, Symbol("impl", 0x100), soname="libc.so.6"))
        state.add_ifunc_target(LIB + first, LIB + 0x100)
        change = state.add_ifunc_target(LIB + second, LIB + 0x100)
        assert bound(state) == {LIB + 0x100: W1}
        assert [c.verdict for c in change.conflicts] == [verdict]


@pytest.mark.parametrize(("first", "second"), [(0, 0x10), (0x10, 0)])
@pytest.mark.parametrize("late", [False, True])
def test_of_two_ifuncs_with_one_target_the_one_resolved_first_is_wrapped(
    first: int, second: int, late: bool
) -> None:
    state = RedirState()
    libc = make(LIB, ifunc("memcpy", 0), ifunc("memmove", 0x10), Symbol("impl", 0x100), soname="libc.so.6")
    wrappers = make(W1, "_vgw00000ZZ_libcZdsoZa_memcpy", "_vgw00000ZZ_libcZdsoZa_memmove")
    state.add_object(libc if late else wrappers)
    if not late:
        state.add_object(libc)
    state.add_ifunc_target(LIB + first, LIB + 0x100)
    state.add_ifunc_target(LIB + second, LIB + 0x100)
    if late:
        state.add_object(wrappers)
    assert bound(state) == {LIB + 0x100: W1 + first}
    state.add_object(make(W2, "_vgw00000ZZ_libcZdsoZa_memcpy", "_vgw00000ZZ_libcZdsoZa_memmove"))
    assert bound(state) == {LIB + 0x100: W1 + first}, "who holds it, holds it"


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize(
    ("best", "other"),
    [
        (Symbol("open", 0, 0x10), Symbol("open64", 0, 0x10)),
        (Symbol("a", 0, 0x10), Symbol("b", 0, 0x10)),
        (Symbol("long_name", 0, 0x10), Symbol("short", 0, 0x20)),
        (Symbol("sized", 0, 0x10), Symbol("not", 0)),
        (Symbol("f@@V2", 0, 0x10), Symbol("g", 0, 0x10)),
    ],
)
def test_the_wrapper_of_the_name_that_is_shown_holds(best: Symbol, other: Symbol, swapped: bool) -> None:
    """Wherever the wrappers of one object lie; one that was there before stays."""
    pair = [best, other][:: -1 if swapped else 1]
    names = [symbol.name.partition("@")[0] for symbol in pair]
    wrappers = make(W1, *(f"_vgw00000ZU_NONE_{name}" for name in names))
    held = W1 + 0x10 * pair.index(best)
    state = RedirState()
    state.add_object(wrappers)
    change = state.add_object(make(APP, *pair))
    assert bound(state) == {APP: held}
    assert [c.verdict for c in change.conflicts] == [Verdict.CONFLICT]
    state = RedirState()
    state.add_object(make(W2, f"_vgw00000ZU_NONE_{other.name}"))
    state.add_object(make(APP, *pair))
    state.add_object(wrappers)
    assert bound(state) == {APP: W2}


def test_the_better_claim_on_a_resolver_moves_its_targets() -> None:
    state = RedirState()
    state.add_object(make(LIB, ifunc("f", 0), Symbol("impl", 0x100)))
    state.add_object(make(W1, "_vgr12340ZU_NONE_f"))
    state.add_ifunc_target(LIB, LIB + 0x100)
    change = state.add_object(make(W2, "_vgr12341ZU_NONE_f"))
    assert bound(state) == {LIB + 0x100: W2}
    assert [b.target for b in change.removed] == [W1]
    assert [b.target for b in change.added] == [W2]


def test_an_alias_of_a_resolver_is_never_bound_itself() -> None:
    state = RedirState()
    state.add_object(make(LIB, Symbol("f_ifunc", 0), ifunc("f", 0)))
    state.add_object(make(W1, "_vgr00000ZZ_NONE_fZuZa"))
    assert bound(state) == {}
    assert [b.symbol for b in state.pending_ifuncs.values()] == ["f_ifunc"]


def test_an_ifunc_target_reported_before_any_rule() -> None:
    state = RedirState()
    state.add_object(make(LIB, ifunc("f", 0), Symbol("impl", 0x100)))
    assert state.add_ifunc_target(LIB, LIB + 0x100) == Change()
    state.add_object(make(W1, "_vgr00000ZU_NONE_f"))
    assert bound(state) == {LIB + 0x100: W1}


def test_an_ifunc_that_resolves_to_its_own_replacement_is_left_alone() -> None:
    state = RedirState()
    state.add_object(make(LIB, ifunc("f", 0), soname="libf.so"))
    state.add_object(make(W1, Symbol("_vgr00000ZZ_libfZdso_f", 0, 0x20)))
    assert state.add_ifunc_target(LIB, W1 + 0x10) == Change()
    assert bound(state) == {}


def test_an_ifunc_target_goes_with_the_object_it_lies_in() -> None:
    state = RedirState()
    state.add_object(make(LIB, ifunc("f", 0)))
    state.add_object(make(W1, "_vgr00000ZU_NONE_f"))
    other = make(APP, "impl")
    state.add_object(other)
    state.add_ifunc_target(LIB, APP)
    state.add_ifunc_target(LIB, 0x7000000)  # in no object
    assert bound(state) == {APP: W1, 0x7000000: W1}
    state.remove_object(other)
    assert bound(state) == {0x7000000: W1}
    state.remove_range(0x7000000, 0x7001000)
    assert bound(state) == {}
    assert state.ifunc_targets(LIB) == ()


def test_an_ifunc_redirect_symbol_is_no_specification() -> None:
    state = RedirState()
    change = state.add_object(make(W1, ifunc("_vgr00000ZU_NONE_f", 0)))
    assert state.specifications == ()
    assert texts(change, 1) == [
        "WARNING: redirect symbol is an indirect function -- ignoring it: _vgr00000ZU_NONE_f"
    ]
