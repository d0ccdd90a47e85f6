"""``interpose.records``: what a class's thousandth record is like, for which a method was compiled."""

from __future__ import annotations

from typing import Any

import pytest

from interpose.records import _OFTEN, NamedTuple, compact, dataclass, field, replace


@dataclass
class Plain:
    first: int
    second: str = "two"


@dataclass(frozen=True)
class Frozen:
    first: int
    second: str = "two"


@compact
@dataclass
class Compact:
    first: int
    second: str = "two"


@compact
@dataclass(frozen=True)
class FrozenCompact:
    first: int
    second: str = "two"


@dataclass
class After:
    first: int
    second: str = "two"

    def __post_init__(self) -> None:
        self.sum = f"{self.first} {self.second}"


@dataclass
class Lists:
    first: int
    second: list[int] = field(default_factory=list)


CLASSES = [Plain, Frozen, Compact, FrozenCompact]


def often(cls: Any) -> None:
    for number in range(_OFTEN):
        assert cls(number).first == number


@pytest.mark.parametrize("cls", CLASSES)
def test_the_method_that_is_compiled_does_what_the_general_one_does(cls: Any) -> None:
    before = [cls(1), cls(1, "x"), cls(first=1, second="x"), cls(1, second="x")]
    general = cls.__init__
    often(cls)
    assert cls.__init__ is not general
    after = [cls(1), cls(1, "x"), cls(first=1, second="x"), cls(1, second="x")]
    assert after == before
    assert [repr(one) for one in after] == [repr(one) for one in before]
    assert replace(after[0], second="y").second == "y"
    for wrong in ((), (1, "x", 3)):
        with pytest.raises(TypeError):
            cls(*wrong)
    with pytest.raises(TypeError):
        cls(1, third=3)


@pytest.mark.parametrize("cls", [Frozen, FrozenCompact])
def test_frozen_records_stay_frozen(cls: Any) -> None:
    often(cls)
    one = cls(1)
    with pytest.raises(AttributeError):
        one.first = 2
    assert hash(one) == hash(cls(1))


def test_what_follows_a_record_s_making_is_done() -> None:
    assert After(3).sum == "3 two"
    often(After)
    assert After(3).sum == "3 two"


def test_defaults_that_are_made_are_made_each_time() -> None:
    often(Lists)
    one, other = Lists(1), Lists(2)
    one.second.append(1)
    assert other.second == []


def test_a_class_below_has_its_own_method() -> None:
    class Below(Plain):
        def __init__(self, number: int) -> None:
            super().__init__(number, "below")

    often(Below)
    assert (Below(1).first, Below(1).second) == (1, "below")
    assert Plain(1).second == "two"


class Pair(NamedTuple):
    first: int
    second: str = "two"
    third: tuple[int, ...] = ()


def test_tuples_that_are_made_often_are_the_same_tuples() -> None:
    def some() -> list[Pair]:
        return [Pair(1), Pair(1, "x"), Pair(first=1, third=(2,)), Pair(1, "x", (3,)), Pair(*"ab", third=(4,))]

    before, general = some(), Pair.__new__
    often(Pair)
    assert Pair.__new__ is not general
    assert some() == before
    assert [repr(one) for one in some()] == [repr(one) for one in before]
    assert all(type(one) is Pair for one in some())
    assert Pair(1)._replace(second="y") == (1, "y", ())
    for wrong in ((), (1, "x", (), 4)):
        with pytest.raises(TypeError):
            Pair(*wrong)
    with pytest.raises(TypeError):
        Pair(1, fourth=3)
