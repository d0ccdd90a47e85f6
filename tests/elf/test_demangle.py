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
    ("_Dmain", "D main"),
    ("_DYNAMIC", "_DYNAMIC"),
    ("_D1e1xi", "e.x"),
    ("_D8demangle4testFiZi", "demangle.test(int)"),
    ("_D1e1S3bazFAyaHQeiAxaDFNbiZvZv",
     "e.S.baz(immutable(char)[], int[immutable(char)[]], const(char)[], void(int) nothrow delegate)"),
    ("_D1e3Foo__T3barTlZQhMFNbNilZi", "e.Foo.bar!(long).bar(long)"),
    ("_D4core6__ctorMFZv", "core.this()"),
    ("_D4core6__initZ", "initializer for core"),
    ("_D1a1bUJiKiLiMiNkKiXi", "a.b(out int, ref int, lazy int, scope int, return ref int...)"),
    ("_D1a1bMxFiYv", "a.b(int, ...) const"),
    ("_D1a1bFZ1ci", "a.b().c"),
    ("_D1aFNhG4iPUiZvOxaB2iizkZv",
     "a(__vector(int[4]), extern(C) void(int) function, shared(const(char)), Tuple!(int, int), ucent)"),
    ("_D1a__T1bVai97VlN3VPvnVbi1Vui8364Zi", "a.b!('a', -3L, null, true, '\\u20ac')"),
    ("_D1a__T1bVfeN8P1VdeNANVeeNINFVqc0A8P6cN0A01PN1Zi", "a.b!(-0x8.p1, NaN, -Inf, 0x0.A8p6+-0x0.A01p-1i)"),
    ("_D1a__T1bVAyaa4_0a22e9ffVAiA2i1i2VHiiA1i1i2VS1a1cS2i1i2Zi",
     'a.b!("\\n"\\xe9\\xff", [1, 2], [1:2], a.c(1, 2))'),
    ("_D1a__T1bS_D3foo3barFZvX5helloHTiZi", "a.b!(foo.bar(), hello, int)"),
    ("_D1a3fooQei", "a.foo.foo"),
    ("_D1a3fooQz", "_D1a3fooQz"),
    ("_D1a__T1b", "_D1a__T1b"),
    ("_D1aFB9" + "9" * 5000 + "iZv", "_D1aFB9" + "9" * 5000 + "iZv"),
    ("_D1aF" + "A" * 9999, "_D1aF" + "A" * 9999),
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
    ('core.time.convert!("hnsecs", "hours").convert(long)', "convert"),
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


@pytest.mark.skipif(
    not (shutil.which("ldc2") and shutil.which("c++filt")), reason="no D compiler or no referee"
)
def test_every_d_name_of_its_library() -> None:
    library = next(Path("/usr/lib/x86_64-linux-gnu").glob("libdruntime-ldc-shared.so.*"))
    listed = subprocess.run(["nm", "-D", library], capture_output=True, text=True, check=True).stdout
    names = sorted({line.split()[-1] for line in listed.splitlines() if " _D" in line})
    command = ["c++filt", "--format=dlang"]
    referee = subprocess.run(command, input="\n".join(names), capture_output=True, text=True, check=True)
    shown = referee.stdout.splitlines()
    pairs = [(demangle(name), text) for name, text in zip(names, shown, strict=True) if text != name]
    assert len(pairs) > 1000
    # It leaves out parameters that back references stand for, and says __postblit() where one has attributes.
    differing = [pair for pair in pairs if pair[0].removeprefix(pair[1])[:1] not in ("", "(")]
    assert not [(ours, theirs) for ours, theirs in differing if "__postblit" not in theirs]
