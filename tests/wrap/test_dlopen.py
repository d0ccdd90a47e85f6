"""Objects and wrappers that come and go (core manual, section 3.3.3)."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from interpose.elf.image import Image

# Where Valgrind does not do as its manual says, or forgets the second wrapper when the first goes.
ENGINES = ("none", "memcheck", "wrapped")
BOTH = ("valgrind", "ours")

Build = Callable[..., Path]
Check = Callable[..., None]


@pytest.fixture(scope="session")
def driver(build: Build) -> Path:
    return build("driver.c", "valgrind")


@pytest.fixture(scope="session")
def object1(build: Build) -> Path:
    return build("object.c", "valgrind", "-shared", "-fPIC", "-Wl,-soname,object1.so", name="object1.so")


@pytest.fixture(scope="session")
def library(build: Build) -> Callable[..., Path]:
    """A library with a wrapper of function1 that multiplies the result."""

    def make(factor: int, header: str = "valgrind", pattern: str = "object1Zdso") -> Path:
        return build("wrapper.c", header, "-shared", "-fPIC", f"-DFACTOR={factor}", f"-DPATTERN={pattern}")

    return make


@pytest.mark.parametrize("header", BOTH)
def test_preloaded_wrapper(check: Check, driver: Path, object1: Path, library: Build, header: str) -> None:
    env = {"LD_PRELOAD": str(library(10, header))}
    check(driver, f"+{object1}", "call", "3", native="5\n5\n", wrapped="50\n50\n", env=env)


@pytest.mark.parametrize("header", BOTH)
def test_wrapper_after_its_object(
    check: Check, driver: Path, object1: Path, library: Build, header: str
) -> None:
    w = library(10, header)
    words = f"+{object1} call 3 +{w} call 3 -{w} call 3".split()
    check(driver, *words, native="5\n" * 6, wrapped="5\n5\n50\n50\n5\n5\n")


def test_objects_whose_code_is_mapped_together_with_their_data(check: Check, build: Build) -> None:
    """As gold links, and all did before 2018: the whole is mapped as code, then data on top."""
    together = ("-shared", "-fPIC", "-Wl,-z,noseparate-code")
    o = build("object.c", "valgrind", *together, "-Wl,-soname,object1.so", name="together-object1.so")
    w = build("wrapper.c", "valgrind", *together, "-DFACTOR=10", "-DPATTERN=object1Zdso")
    driver = build("driver.c", "valgrind", "-Wl,-z,noseparate-code")
    words = f"+{o} call 3 +{w} call 3 -{w} call 3 +{w} call 3 -{o}".split()
    check(driver, *words, native="5\n" * 8, wrapped="5\n5\n50\n50\n5\n5\n50\n50\n")


def test_wrapper_before_its_object(check: Check, driver: Path, object1: Path, library: Build) -> None:
    w = library(10)
    check(driver, *f"+{w} +{object1} call 3".split(), native="5\n5\n", wrapped="50\n50\n")


def test_hot_code_is_redirected_and_routed_back(
    check: Check, driver: Path, object1: Path, library: Build
) -> None:
    w = library(10)
    words = f"+{object1} 30000 +{w} 30000 -{w} 30000 +{w} 30000".split()
    check(driver, *words, native="5\n" * 4, wrapped="5\n50\n5\n50\n")


def test_wrapper_outlives_its_object(check: Check, driver: Path, object1: Path, library: Build) -> None:
    w = library(10)
    again = f"+{object1} call 3 -{object1} "
    words = (f"+{w} " + again * 4 + f"-{w} " + again).split()
    check(driver, *words, native="5\n5\n" * 5, wrapped="50\n50\n" * 4 + "5\n5\n")


def test_first_of_two_wrappers_is_honoured(check: Check, driver: Path, object1: Path, library: Build) -> None:
    first, second = library(10), library(100)
    words = f"+{object1} +{first} call +{second} call -{first} call -{second} call".split()
    check(driver, *words, native="5\n" * 4, wrapped="50\n50\n500\n5\n", engines=ENGINES)


def test_two_wrappers_wait_for_the_object(check: Check, driver: Path, object1: Path, library: Build) -> None:
    first, second = library(10), library(100)
    words = f"+{first} +{second} +{object1} call -{object1} -{first} +{object1} call".split()
    check(driver, *words, native="5\n5\n", wrapped="50\n500\n", engines=ENGINES)


@pytest.mark.parametrize("pattern", ["Za", "objectZa", "ZaZdso", "object1Zdso"])
def test_soname_patterns(check: Check, driver: Path, object1: Path, library: Build, pattern: str) -> None:
    w = library(10, pattern=pattern)
    check(driver, *f"+{object1} +{w} call".split(), native="5\n", wrapped="50\n")


@pytest.mark.parametrize("pattern", ["NONE", "object2Zdso", "objectZaZZ"])
def test_sonames_that_do_not_match(
    check: Check, driver: Path, object1: Path, library: Build, pattern: str
) -> None:
    w = library(10, pattern=pattern)
    check(driver, *f"+{object1} +{w} call".split(), native="5\n", wrapped="5\n")


def test_conflict_is_told(run: Callable, driver: Path, object1: Path, library: Build) -> None:
    words = f"+{object1} +{library(10)} +{library(100)} call".split()
    told = run("none", driver, *words, options=("-v",)).messages
    at = told.index("WARNING: new redirection conflicts with existing -- ignoring it")
    old, new = told[at + 1 : at + 3]
    line = r"0x([0-9a-f]{8,}) \(function1 {11}\) W-> \(0000\.0\) 0x([0-9a-f]{8,}) function1"
    earlier, later = re.fullmatch("    old: " + line, old), re.fullmatch("    new: " + line, new)
    assert earlier and later, (old, new)
    assert earlier[1] == later[1] and earlier[2] != later[2]
    quiet = run("none", driver, *words, options=())
    assert not any("conflict" in line for line in quiet.messages) and quiet.out == "50\n"


def test_indirect_functions_resolved_before_their_wrapper_comes(check: Check, build: Build) -> None:
    # (Valgrind learns of what resolvers return only when they run.)
    program = build("late.c", "valgrind", "-rdynamic", "-fno-builtin")
    wrapper = build("late_wrapper.c", "ours", "-shared", "-fPIC")
    plain, wrapped = "6 2 3 5\n", "1006 20 30 5\n"
    check(program, str(wrapper), native=plain * 3, wrapped=plain + wrapped + plain, engines=ENGINES)
    # What was chosen has no symbol then.
    program = build("late.c", "valgrind", "-rdynamic", "-fno-builtin", "-s")
    check(program, str(wrapper), native=plain * 3, wrapped=plain + wrapped + plain, engines=ENGINES)


def test_indirect_functions_beside_a_bad_unwind_table(check: Check, build: Build, tmp_path: Path) -> None:
    whole = build("late.c", "valgrind", "-rdynamic", "-fno-builtin")
    content = bytearray(whole.read_bytes())
    sections = int.from_bytes(content[0x28:0x30], "little")  # e_shoff
    names = [section.name for section in Image.open(str(whole)).sections]
    offset = sections + 64 * names.index(".eh_frame") + 24
    content[offset : offset + 8] = (1 << 40).to_bytes(8, "little")
    program = tmp_path / "program"
    program.write_bytes(content)
    program.chmod(0o755)
    wrapper = build("late_wrapper.c", "ours", "-shared", "-fPIC")
    plain, wrapped = "6 2 3 5\n", "1006 20 30 5\n"
    check(program, str(wrapper), native=plain * 3, wrapped=plain + wrapped + plain, engines=ENGINES)


def test_indirect_functions_of_an_opened_library_are_wrapped_at_once(check: Check, build: Build) -> None:
    shared = ("-shared", "-fPIC")
    library = build("chosen.c", "ours", *shared, "-DLIBRARY", "-Wl,-soname,libchosen.so")
    env = {"LD_PRELOAD": str(build("chosen.c", "ours", *shared, "-DWRAPPER"))}
    native, wrapped = ("".join(f"early {n + 11}\n{n + i + 1}\n" for i in range(3)) for n in (0, 100))
    program = build("chosen.c", "ours")
    check(program, str(library), native=native, wrapped=native, engines=ENGINES)
    check(program, str(library), native=None, wrapped=wrapped, env=env)


def test_what_resolvers_choose_is_told_once(run: Callable, build: Build, tmp_path: Path) -> None:
    """Each library that uses memcpy has its resolver run: the supervisor need not be asked again."""
    library = build("lengths.c", "valgrind", "-shared", "-fPIC", "-fno-builtin", "-Wl,-z,now")
    copies = [shutil.copy(library, tmp_path / f"copy{i}.so") for i in range(30)]
    program = build("basic.c", "valgrind")

    def asked(count: int) -> int:
        env = {"LD_PRELOAD": ":".join(map(str, copies[:count]))}
        told = run("memcheck", program, options=("-d", "-d", "--cache=no"), env=env).err.splitlines()
        assert sum(": mapped 0x" in line for line in told) > count
        return sum(": request 0x" in line for line in told)

    assert 0 < asked(1) == asked(30)


def test_threads_see_a_wrapper_as_soon_as_it_is_loaded(check: Check, build: Build) -> None:
    program = build("parallel.c", "valgrind", "-pthread")
    wrappers = [build("parallel_wrapper.c", "ours", "-shared", "-fPIC", f"-DFUNCTION=f{i}") for i in range(6)]
    check(program, *map(str, wrappers), native=None, wrapped="late 0 wrong 0\n", engines=("none", "memcheck"))


def test_thousands_of_bindings_come_and_go(check: Check, build: Build) -> None:
    shared = ("-shared", "-fPIC", "-O0")
    names = ("-Wl,-soname,object1.so", "-DOBJECT")
    words = [build("many.c", "valgrind", *shared, *names)]
    words += [
        build("many.c", "valgrind", *shared, "-DWRAPPER", f"-DPATTERN={p}ZuZa") for p in ("even", "odd")
    ]
    plain, odd, both = "2048 4096\n", "2048 4096000\n", "2048000 4096000\n"
    check(build("many.c", "valgrind"), *map(str, words), native=plain * 6, wrapped=(both + odd + plain) * 2)
