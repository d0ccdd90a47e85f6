"""What a redirection core that is started late is told: all that holds, and nothing of what was unloaded."""

from __future__ import annotations

import gc
import random
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from interpose.cache import memo
from interpose.options.parse import parse
from interpose.redir import Change, CodeObject, Symbol
from interpose.supervisor import objects as module
from interpose.supervisor.objects import Mapped, Objects

PAGE = 0x1000
PLACES = [0x10000 * number for number in range(1, 9)]


class Loaded(Objects):
    """Its files are one page each: an indirect function, which may choose two, or a wrapper for those."""

    def __init__(self) -> None:
        super().__init__(parse(["true"]), None, None, lambda at, size: None, memo=memo.Memo(b"", None))  # type: ignore[arg-type]

    def _take_in(self, known: Mapped) -> None:
        if self._redir is not None:
            self._add_object(known)

    def _add_object(self, known: Mapped) -> None:
        symbols = [
            Symbol("f", 0, 0x10, is_ifunc=True),
            Symbol("f_one", 0x10, 0x10),
            Symbol("f_two", 0x20, 0x10),
        ]
        if known.file.path == "w":
            symbols = [Symbol("_vgw00000ZU_libZdso_f", 0, 0x10)]
        soname = f"{known.file.path}.so"
        text = [(known.start, known.end)]
        self._apply(self.redir.add_object(CodeObject(known.file.path, text, symbols, soname, known.start)))

    def _apply(self, change: Change) -> None:
        """Nothing: there is no translator."""

    def load(self, path: str, at: int) -> None:
        self.mapped(at, PAGE, 0, file(path))

    def bound(self) -> dict[int, int]:
        return {at: binding.target for at, binding in self.redir.active.items()}


def file(path: str) -> Any:
    return SimpleNamespace(path=path, identity=path.encode(), image=lambda: None, debug_places=lambda: [])


@pytest.fixture(autouse=True)
def no_translator(monkeypatch: pytest.MonkeyPatch) -> None:
    nothing = SimpleNamespace(
        ip_tell_first_uses=lambda yes: None,
        ip_stable_add=lambda start, end: None,
        ip_stable_del=lambda start, end: None,
        ip_keeps_stack_del=lambda start, end: None,
    )
    monkeypatch.setattr(module, "lib", nothing)


def size(root: object) -> int:
    """How many references there are in what can be reached from it."""
    seen: dict[int, object] = {}
    left = [root]
    while left:
        found = left.pop()
        if id(found) not in seen and not callable(found) and not isinstance(found, ModuleType):
            seen[id(found)] = found
            left += gc.get_referents(found)
    return sum(len(gc.get_referents(found)) for found in seen.values())


def test_loads_and_unloads_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MOST_ANSWERS", 100)
    loaded = Loaded()
    sizes = []
    for _ in range(4):
        for _ in range(100):
            loaded.load("lib", PLACES[0])
            loaded.ifunc_resolved(PLACES[0], PLACES[0] + 0x10)
            loaded.ifunc_resolved(PLACES[0], PLACES[0] + 0x20)
            loaded.unmapped(PLACES[0], PAGE)
        sizes.append(size(loaded))
    assert sizes[1] == sizes[-1]


def random_events(chance: random.Random, each: list[Loaded]) -> None:
    for _ in range(60):
        what = chance.choice(["lib", "lib", "w", "unmap", "resolve", "resolve", "resolve"])
        place, other = chance.choice(PLACES), chance.choice(PLACES)
        start, pages = chance.choice(PLACES), chance.randint(1, 0x20)
        for loaded in each:
            if what == "unmap":
                loaded.unmapped(start, pages * PAGE)
            elif what == "resolve":
                loaded.ifunc_resolved(place, other + 0x10)
            else:
                loaded.unmapped(place, PAGE)
                loaded.load(what, place)


def test_a_late_core_is_as_one_that_was_there() -> None:
    indirect = 0
    for seed in range(50):
        late, early = Loaded(), Loaded()
        assert early.redir is not None  # starts it
        random_events(random.Random(seed), [late, early])
        assert late._redir is None
        assert late.bound() == early.bound(), seed
        indirect += any(at % PAGE for at in early.bound())
        random_events(random.Random(-seed), [late, early])
        assert late.bound() == early.bound(), seed
    assert indirect > 10
