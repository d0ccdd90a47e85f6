"""``NamedTuple`` for the modules that every run loads.

To import ``typing`` takes a tenth of what a short program costs (it brings ``re``, ``enum`` and more with
it), and each of its named tuples compiles a constructor. Type checkers are shown the original::

    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from interpose.records import NamedTuple
"""

from __future__ import annotations

from _collections import _tuplegetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


class _Fields(type):
    """Makes a tuple's fields of a class's annotations; a value beside one is its default."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _Fields:
        fields = tuple(space.get("__annotations__", ()))
        space["_field_defaults"] = {field: space[field] for field in fields if field in space}
        space["_fields"] = space["__match_args__"] = fields
        space["__slots__"] = ()
        space.update({field: _tuplegetter(at, "") for at, field in enumerate(fields)})
        return type.__new__(cls, name, bases, space)


class NamedTuple(tuple, metaclass=_Fields):  # type: ignore[type-arg]
    """A tuple whose items have names, as ``typing.NamedTuple``; the class may have methods."""

    _fields: Any
    _field_defaults: Any

    def __new__(cls, *values: Any, **named: Any) -> NamedTuple:
        if named or len(values) != len(cls._fields):
            values = cls._complete(values, named)
        return tuple.__new__(cls, values)

    @classmethod
    def _complete(cls, values: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
        rest = cls._fields[len(values) :]
        known = {**cls._field_defaults, **named}
        if len(values) > len(cls._fields) or not set(named).issubset(rest) or not known.keys() >= set(rest):
            given = f"{len(values)} values and {sorted(named)}"
            raise TypeError(f"{cls.__name__}() takes {', '.join(cls._fields)}; not {given}")
        return (*values, *(known[field] for field in rest))

    @classmethod
    def _make(cls, values: Iterable[Any]) -> NamedTuple:
        made = tuple.__new__(cls, values)
        if len(made) != len(cls._fields):
            raise TypeError(f"{cls.__name__}() takes {len(cls._fields)} values, not {len(made)}")
        return made

    def _replace(self, **changes: Any) -> NamedTuple:
        kept = [changes.pop(field, value) for field, value in zip(self._fields, self, strict=True)]
        if changes:
            raise ValueError(f"{type(self).__name__} has no {', '.join(sorted(changes))}")
        return self._make(kept)

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def __repr__(self) -> str:
        shown = (f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple(self)
