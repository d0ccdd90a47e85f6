"""Libraries whose files are replaced, rewritten, cut or deleted between loads and while they are loaded."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tools.memcheck.guests import REFERENCE, valgrind_version

ENGINES = ("none", "memcheck")
WAYS = ("mv", "cp")

Build = Callable[..., Path]


@pytest.fixture
def files(build: Build, tmp_path: Path) -> dict[str, str]:
    """Fresh copies: the program, both versions of the object (`old`, `new`) and of the wrapper's library."""
    shared = ("-shared", "-fPIC")
    made = {"program": build("replaced.c", "valgrind")}
    for version in ("old", "new"):
        flags = ("-DNEW",) if version == "new" else ()
        sources = {version: "replaced_object.c", f"{version}_wrapper": "replaced_wrapper.c"}
        for name, source in sources.items():
            made[name] = tmp_path / f"{name}.so"
            shutil.copy(build(source, "valgrind", *shared, "-Wl,-soname,object1.so", *flags), made[name])
    return {name: str(path) for name, path in made.items()}


def inner_frames(messages: list[str]) -> list[str]:
    """Who called back, for each time that the program was called back."""
    after = [messages[i + 1] for i, line in enumerate(messages) if "called_back" in line]
    return [re.sub(r"^ +by 0x[0-9A-F]+: ", "", line) for line in after]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_new_functions_are_wrapped(run: Callable, files: dict[str, str], engine: str, way: str) -> None:
    old, new = files["old"], files["new"]
    words = [f"+{old}", "function1", "-", f"{way}:{new}:{old}", f"+{old}", "function1"]
    result = run(engine, files["program"], *words, env={"LD_PRELOAD": files["old_wrapper"]})
    assert (result.out, result.code) == ("50\n50\n", 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", ENGINES)
def test_new_wrappers_are_called(run: Callable, files: dict[str, str], engine: str, way: str) -> None:
    old, new = files["old_wrapper"], files["new_wrapper"]
    load = [f"+{files['old']}", "function1", "-"]
    # The wrapper's library is loaded over its object, so that closing it is closing the last one loaded.
    words = [f"+{old}", "-", f"{way}:{new}:{old}", f"+{old}", *load]
    result = run(engine, files["program"], *words)
    assert (result.out, result.code) == ("500\n", 0)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("engine", [*ENGINES, "valgrind"])
def test_stacks_name_new_functions(run: Callable, files: dict[str, str], engine: str, way: str) -> None:
    old, new = files["old"], files["new"]
    words = [f"+{old}", "function1", "-", f"{way}:{new}:{old}", f"+{old}", "function1"]
    found = inner_frames(run(engine, files["program"], *words).messages)
    assert [frame.split(" ")[0] for frame in found] == ["old_inner", "new_inner"]
    assert all("(replaced_object.c:" in frame for frame in found)


@pytest.mark.parametrize("change", ["mv:{new}:{old}", "rm:{old}"])
@pytest.mark.parametrize("engine", [*ENGINES, "valgrind"])
def test_stacks_name_what_is_mapped(run: Callable, files: dict[str, str], engine: str, change: str) -> None:
    words = [f"+{files['old']}", change.format(**files), "function1"]
    found = inner_frames(run(engine, files["program"], *words).messages)
    right = "old_inner (replaced_object.c:11)"
    if engine == "valgrind" and valgrind_version() != REFERENCE:  # it reads lines when it needs them
        late = (
            "new_inner (replaced_object.c:11)"
            if change.startswith("mv")
            else f"old_inner (in {files['old']})"
        )
        assert found in ([right], [late])
    else:
        assert found == [right]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_file_that_lost_its_end_hurts_nobody(run: Callable, files: dict[str, str], engine: str) -> None:
    words = [f"+{files['old']}", f"cut:{files['old']}:300", "function1"]
    result = run(engine, files["program"], *words)
    assert (result.out, result.code) == ("5\n", 0)
    (frame,) = inner_frames(result.messages)
    assert "old" in frame


@pytest.mark.parametrize("way", ["fd", "memfd"])
@pytest.mark.parametrize("engine", ENGINES)
def test_files_without_a_name(run: Callable, files: dict[str, str], engine: str, way: str) -> None:
    """Natively that is how programs load what they have unpacked.  (Valgrind reads no symbols of them.)"""
    words = [f"{way}:{files['old']}", "function1"]
    result = run(engine, files["program"], *words, env={"LD_PRELOAD": files["old_wrapper"]})
    assert (result.out, result.code) == ("50\n", 0)
    assert inner_frames(result.messages) == ["old_inner (replaced_object.c:11)"]
