"""Names for people."""

from __future__ import annotations

import pytest

from interpose.elf.demangle import demangle, short_name


@pytest.mark.parametrize(("symbol", "text"), [
    ("main", "main"),
    ("_Znwm", "operator new(unsigned long)"),
    ("_ZN2ns3BoxIiE3farEi.isra.0", "ns::Box<int>::far(int) [clone .isra.0]"),
    ("_ZN12_GLOBAL__N_14anonEP4Base", "(anonymous namespace)::anon(Base*)"),
    ("_ZNSt8bad_castD1Ev@@GLIBCXX_3.4", "std::bad_cast::~bad_cast()@@GLIBCXX_3.4"),
    ("fopen@@GLIBC_2.2.5", "fopen@@GLIBC_2.2.5"),
    ("_Z", "_Z"),
    ("_ZNotMangled", "_ZNotMangled"),
    ("_vgr10010ZU_libcZdsoZa_malloc", "malloc"),
    ("_vgr10030ZU_libstdcZpZpZa__Znwm", "operator new(unsigned long)"),
    ("_vgw00000ZZ_NONE_fZAZA1", "f@@1"),
    ("_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"),
    ("_ZN71_$LT$Test$u20$$u2b$$u20$$u27$static$u20$as$u20$foo..Bar$LT$Test$GT$$GT$3bar17h930b740aa94f1d3aE",
     "<Test + 'static as foo::Bar<Test>>::bar"),
])  # fmt: skip
def test_demangle(symbol: str, text: str) -> None:
    assert demangle(symbol) == text


@pytest.mark.parametrize(("text", "last"), [
    ("main", "main"),
    ("ns::Box<int>::get(int) const", "get"),
    ("std::vector<int, std::allocator<int> >::operator[](unsigned long)", "operator[]"),
    ("f(int)::{lambda(int)#1}::operator()(int) const", "operator()"),
    ("(anonymous namespace)::anon(Base*)", "anon"),
    ("int* std::max<int>(int*, int*)", "max<int>"),
    ("ns::P::operator bool() const", "operator bool"),
    ("operator<(P const&, P const&)", "operator<"),
])  # fmt: skip
def test_short_name(text: str, last: str) -> None:
    assert short_name(text) == last
