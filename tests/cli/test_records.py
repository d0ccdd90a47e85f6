"""The named tuples, data classes and enumerations of modules that every run loads behave as the originals."""

from __future__ import annotations

import dataclasses
import enum
import pickle
import sys
import typing

import pytest

from interpose import records
from interpose.records import NamedTuple


class Own(NamedTuple):
    first: int
    second: str = "two"
    third: int = 3

    @property
    def double(self) -> int:
        return 2 * self.first


class Typings(typing.NamedTuple):
    first: int
    second: str = "two"
    third: int = 3

    @property
    def double(self) -> int:
        return 2 * self.first


CALLS = [
    lambda kind: kind(1),
    lambda kind: kind(1, "b", 5),
    lambda kind: kind(first=1, third=7),
    lambda kind: kind._make([1, 2, 3]),
    lambda kind: kind(1)._replace(second="x"),
    lambda kind: kind(4).double,
    lambda kind: kind(1)._asdict(),
    lambda kind: (kind._fields, kind._field_defaults, kind.__match_args__),
    lambda kind: repr(kind(1)).partition("(")[2],
    lambda kind: hash(kind(1)),
    lambda kind: kind(1) == (1, "two", 3),
    lambda kind: pickle.loads(pickle.dumps(kind(1))) == kind(1),
    lambda kind: hasattr(kind(1), "__dict__"),
]
FAULTS = [
    lambda kind: kind(),
    lambda kind: kind(1, 2, 3, 4),
    lambda kind: kind(1, first=1),
    lambda kind: kind(1, fourth=1),
    lambda kind: kind._make([1]),
    lambda kind: setattr(kind(1), "first", 2),
]


@pytest.mark.parametrize("call", CALLS)
def test_same(call):
    assert call(Own) == call(Typings)


@pytest.mark.parametrize("call", FAULTS)
def test_same_fault(call):
    with pytest.raises(Exception) as fault:
        call(Typings)
    with pytest.raises(fault.type):
        call(Own)


def data(library: typing.Any) -> dict[str, typing.Any]:
    """The same classes by one library or the other."""

    @library.dataclass
    class Plain:
        first: int
        second: str = "two"
        third: list[int] = library.field(default_factory=list)

    @library.dataclass(frozen=True)
    class Frozen:
        first: int
        second: str = library.field(default="x", repr=False)

        def __post_init__(self) -> None:
            if self.first < 0:
                raise ValueError(self.first)

    @library.dataclass(frozen=True, eq=False, slots=True)
    class Same:
        first: int

    @library.dataclass(frozen=True)
    class Own:
        first: int
        second: int = library.field(init=False, repr=False)

        def __init__(self, both: int) -> None:
            object.__setattr__(self, "first", both)
            object.__setattr__(self, "second", both)

    @library.dataclass
    class Derived(Plain):
        fourth: int = 4

    return {name: kind for name, kind in locals().items() if isinstance(kind, type)}


DATA_CALLS = [
    lambda k, lib: k["Plain"](1),
    lambda k, lib: k["Plain"](1, "b", [2]),
    lambda k, lib: k["Plain"](first=3, third=[1]),
    lambda k, lib: k["Plain"](1) == k["Plain"](1),
    lambda k, lib: k["Plain"](1) == k["Plain"](2),
    lambda k, lib: k["Plain"](1) == 1,
    lambda k, lib: k["Plain"](1).third is k["Plain"](1).third,
    lambda k, lib: k["Plain"].__hash__,
    lambda k, lib: k["Plain"].second,
    lambda k, lib: hasattr(k["Plain"], "third"),
    lambda k, lib: lib.replace(k["Plain"](1), second="c"),
    lambda k, lib: k["Frozen"](1),
    lambda k, lib: hash(k["Frozen"](1)) == hash((1, "x")),
    lambda k, lib: {k["Frozen"](1): 2}[k["Frozen"](1)],
    lambda k, lib: lib.replace(k["Frozen"](1), first=7),
    lambda k, lib: k["Same"](1) == k["Same"](1),
    lambda k, lib: len({k["Same"](1), k["Same"](1)}),
    lambda k, lib: (k["Own"](3), k["Own"](3).second, k["Own"](3) == k["Own"](3)),
    lambda k, lib: k["Derived"](1, "b", [], 5),
    lambda k, lib: k["Derived"](1),
    lambda k, lib: k["Derived"].__match_args__,
]
DATA_FAULTS = [
    lambda k, lib: k["Plain"](),
    lambda k, lib: k["Plain"](1, 2, 3, 4),
    lambda k, lib: k["Plain"](1, first=1),
    lambda k, lib: k["Plain"](1, fourth=1),
    lambda k, lib: k["Frozen"](-1),
    lambda k, lib: setattr(k["Frozen"](1), "first", 2),
    lambda k, lib: delattr(k["Frozen"](1), "first"),
    lambda k, lib: lib.replace(k["Frozen"](1), third=2),
]


def shown(value: object) -> object:
    return repr(value) if not isinstance(value, (bool, int, str, tuple)) else str(value)


@pytest.mark.parametrize("call", DATA_CALLS)
def test_same_data(call):
    assert shown(call(data(records), records)) == shown(call(data(dataclasses), dataclasses))


@pytest.mark.parametrize("call", DATA_FAULTS)
def test_same_data_fault(call):
    with pytest.raises(Exception) as fault:
        call(data(dataclasses), dataclasses)
    wanted = AttributeError if isinstance(fault.value, AttributeError) else fault.type
    with pytest.raises(wanted):
        call(data(records), records)


class Colour(records.Enum):
    RED = "r"
    GREEN = "g"
    ALSO_RED = "r"

    @property
    def first(self) -> str:
        return self.value[0]


class Number(records.IntEnum):
    ONE = 1
    TWO = 2


class TheirColour(enum.Enum):
    RED = "r"
    GREEN = "g"
    ALSO_RED = "r"

    @property
    def first(self) -> str:
        return self.value[0]


class TheirNumber(enum.IntEnum):
    ONE = 1
    TWO = 2


ENUM_CALLS = [
    lambda c, n: [(one.name, one.value, one.first) for one in c],
    lambda c, n: (c("g") is c.GREEN, c["RED"] is c.RED, c.ALSO_RED is c.RED, len(c), c.RED == "r"),
    lambda c, n: len({c.RED, c.GREEN, c.ALSO_RED}),
    lambda c, n: (n(2) is n.TWO, n.TWO == 2, n.ONE < n.TWO, n.ONE + 1, f"{n.TWO}", [1, 2][n.ONE]),
    lambda c, n: str(n.TWO) if sys.version_info >= (3, 11) else None,  # before, it was the member's name
    lambda c, n: {n.ONE: 5}[1],
    lambda c, n: isinstance(c.RED, c),
    lambda c, n: pickle.loads(pickle.dumps(c.RED)) is c.RED,
    lambda c, n: pickle.loads(pickle.dumps(n.ONE)) is n.ONE,
    lambda c, n: repr(c.RED).partition(".")[2],
]


@pytest.mark.parametrize("call", ENUM_CALLS)
def test_same_members(call):
    assert call(Colour, Number) == call(TheirColour, TheirNumber)


@pytest.mark.parametrize("kind", [Colour, TheirColour, Number, TheirNumber])
def test_no_member(kind):
    with pytest.raises(ValueError):
        kind("x")


def test_compact_records():
    """Without a dictionary each, otherwise the same."""
    from interpose.records import compact, dataclass, field, replace

    @compact
    @dataclass(frozen=True)
    class Part:
        text: str
        more: tuple = ()
        shown: list = field(default_factory=list)

    one = Part("a", shown=[1])
    assert not hasattr(one, "__dict__")
    assert one == Part("a", (), [1]) and replace(one, text="b") == Part("b", (), [1])
    assert repr(one) == f"{Part.__qualname__}(text='a', more=(), shown=[1])"
    with pytest.raises(AttributeError):
        one.text = "c"
    with pytest.raises(TypeError):
        Part()
