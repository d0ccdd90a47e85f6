"""Names for people."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

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
    ("_RINvCsfq2Zq5gqAK1_2v07genericTlReEEB2_", "v0::generic::<(i32, &str)>"),
    ("_RNvMs0_NtCs123_4core3fooNtB5_3Bar3baz", "<core::foo::Bar>::baz"),
    ("_RNCNvC6_123foo3bar0", "123foo::bar::{closure#0}"),
    ("_RNvC3foo3bar.cold", "foo::bar"),
    ("_RNvC3foou8gdel_5qa", "foo::gödel"),
    ("_RINvC3foo3bazKj10_E", "foo::baz::<16>"),
    ("_RINvC3foo3bazKc61_E", "foo::baz::<'a'>"),
    ("_RINvC3foo3bazFUKCjEuE", 'foo::baz::<unsafe extern "C" fn(usize)>'),
    ("_RNvC3foo", "_RNvC3foo"),
    ("_RNvNvC3foo3barNaf3baz", "_RNvNvC3foo3barNaf3baz"),
    ("_RINvC1a1bTB7_B7_EE", "_RINvC1a1bTB7_B7_EE"),
    ("_RINvC1a1b" + "T" * 9999, "_RINvC1a1b" + "T" * 9999),
    ("_RNvC" + "9" * 9999 + "a", "_RNvC" + "9" * 9999 + "a"),
    # Valgrind demangles neither D nor Ada.
    ("_D8demangle4testFiZi", "_D8demangle4testFiZi"),
    ("ada__text_io__put__4", "ada__text_io__put__4"),
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


@pytest.mark.skipif(not (shutil.which("rustc") and shutil.which("c++filt")), reason="no rustc or no referee")
def test_every_rust_name_of_a_program(tmp_path: Path) -> None:
    (tmp_path / "main.rs").write_text('fn main() { println!("{:?}", std::env::args()); }\n')
    command = ["rustc", "-C", "symbol-mangling-version=v0", "main.rs"]
    if subprocess.run(command, cwd=tmp_path, capture_output=True).returncode:
        pytest.skip("rustc cannot build here")
    listed = subprocess.run(["nm", tmp_path / "main"], capture_output=True, text=True, check=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if " _R" in line})
    referee = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    # It also shows the hashes of crates and the types of constants, which Valgrind does not.
    shown = [re.sub(r"\[[0-9a-f]+\]|(?<=\d): \w+", "", text) for text in referee.stdout.splitlines()]
    assert len(names) > 5
    assert [demangle(name) for name in names] == shown
