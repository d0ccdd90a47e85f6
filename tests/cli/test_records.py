"""The named tuples of modules that every run loads behave as those of typing."""

from __future__ import annotations

import pickle
import typing

import pytest

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
