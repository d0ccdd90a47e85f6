"""``NamedTuple``, ``dataclass`` and ``Enum`` for the modules that every run loads.

To import ``typing``, ``dataclasses`` and ``enum`` takes 20 ms (they bring ``re``, ``inspect`` and more with
them), and each class that they make 0.2 to 0.5 ms, half of it to compile methods.  What is here does what the
package needs of them, at a twentieth of that.  Type checkers are shown the originals::

    if TYPE_CHECKING:
        from typing import NamedTuple
    else:
        from interpose.records import NamedTuple
"""

from __future__ import annotations

from _collections import _tuplegetter
from _operator import attrgetter

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any


class _Fields(type):
    """Makes a tuple's fields of a class's annotations; a value beside one is its default."""

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _Fields:
        fields = tuple(space.get("__annotations__", ()))
        space["_field_defaults"] = {field: space[field] for field in fields if field in space}
        space["_fields"] = space["__match_args__"] = fields
        space["__slots__"] = ()
        space["_count"] = [0]
        space.update({field: _tuplegetter(at, "") for at, field in enumerate(fields)})
        return type.__new__(cls, name, bases, space)


class NamedTuple(tuple, metaclass=_Fields):  # type: ignore[type-arg]
    """A tuple whose items have names, as ``typing.NamedTuple``; the class may have methods."""

    _fields: Any
    _field_defaults: Any
    _count: list[int]

    def __new__(cls, *values: Any, **named: Any) -> NamedTuple:
        cls._count[0] += 1
        if cls._count[0] == _OFTEN and cls.__new__ is NamedTuple.__new__:
            cls.__new__ = _compiled_new(cls)  # type: ignore[method-assign]
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


_OFTEN = 200
"""Records of a class, after which it gets a method of its own to make them: to compile one takes as long as
to make fifty, and most classes have a few records, if any."""


def _compiled_new(cls: type[NamedTuple]) -> Callable[..., NamedTuple]:
    """A ``__new__`` that does what the general one does, in half of the time."""
    space: dict[str, Any] = {f"default_{at}": one for at, one in enumerate(cls._field_defaults.values())}
    defaults = {name: f"{name}=default_{at}" for at, name in enumerate(cls._field_defaults)}
    parameters = ", ".join(defaults.get(name, name) for name in cls._fields)
    values = "".join(f"{name}, " for name in cls._fields)
    space["make"] = tuple.__new__
    made: Callable[..., NamedTuple] = eval(f"lambda cls_, {parameters}: make(cls_, ({values}))", space)
    return made


# -- Data classes --------------------------------------------------------------------------------------------


class _Field:
    """What :func:`field` says of a field."""

    def __init__(
        self, default: Any, default_factory: Callable[[], Any] | None, init: bool, repr: bool
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.init = init
        self.repr = repr


_NONE = object()


def field(
    *,
    default: Any = _NONE,
    default_factory: Callable[[], Any] | None = None,
    init: bool = True,
    repr: bool = True,
) -> Any:
    """As ``dataclasses.field``."""
    return _Field(default, default_factory, init, repr)


def _made(cls: type, values: tuple[Any, ...], named: dict[str, Any]) -> dict[str, Any]:
    """The values of all fields, from some of them."""
    wanted: tuple[str, ...] = cls._record_wanted  # type: ignore[attr-defined]
    if len(values) > len(wanted) or not named.keys() <= set(wanted[len(values) :]):
        raise TypeError(
            f"{cls.__name__}() takes {', '.join(wanted)}; not {len(values)} values, {sorted(named)}"
        )
    found: dict[str, Any] = {**cls._record_defaults, **named}  # type: ignore[attr-defined]
    found.update(zip(wanted, values, strict=False))
    if len(found) < len(cls._record_fields):  # type: ignore[attr-defined]
        for name, one in cls._record_fields.items():  # type: ignore[attr-defined]
            if name in found:
                continue
            if one.default_factory is not None:
                found[name] = one.default_factory()
            elif one.init:
                raise TypeError(f"{cls.__name__}() lacks {name}")
    return found


def _count(cls: Any) -> None:
    cls._record_count[0] += 1
    if cls._record_count[0] == _OFTEN and "_record_count" in cls.__dict__:
        _compile_init(cls)


def _compile_init(cls: Any) -> None:
    """An ``__init__`` that does what the general one does, in a fifth of the time."""
    fields = cls._record_fields
    if cls.__dict__.get("__init__") not in (_init, _init_slots):
        return
    if any(not one.init or one.default_factory is not None for one in fields.values()):
        return
    space: dict[str, Any] = {f"default_{at}": one.default for at, one in enumerate(fields.values())}
    parameters = [
        name if one.default is _NONE else f"{name}=default_{at}"
        for at, (name, one) in enumerate(fields.items())
    ]
    if cls.__setattr__ is not _frozen_set:
        lines = [f"self.{name} = {name}" for name in fields]
    elif "__slots__" in cls.__dict__:
        space.update({f"put_{name}": cls.__dict__[name].__set__ for name in fields})
        lines = [f"put_{name}(self, {name})" for name in fields]
    else:
        lines = ["space = self.__dict__", *(f"space[{name!r}] = {name}" for name in fields)]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__(self, {', '.join(parameters)}):\n " + "\n ".join(lines), space)
    cls.__init__ = space["__init__"]


def _init(self: Any, *values: Any, **named: Any) -> None:
    cls = type(self)
    _count(cls)
    if not named and len(values) == cls._record_simple:
        self.__dict__.update(zip(cls._record_fields, values, strict=True))
    else:
        self.__dict__.update(_made(cls, values, named))
    after = getattr(cls, "__post_init__", None)
    if after is not None:
        after(self)


def _frozen_set(self: Any, name: str, value: Any) -> None:
    raise AttributeError(f"cannot assign to field {name!r}")


def _frozen_delete(self: Any, name: str) -> None:
    raise AttributeError(f"cannot delete field {name!r}")


def _values(self: Any) -> Any:
    try:
        return self._record_values(self)
    except AttributeError:
        return tuple(getattr(self, name, None) for name in self._record_fields)


def _equal(self: Any, other: object) -> Any:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hash(self: Any) -> int:
    return hash(_values(self))


def _repr(self: Any) -> str:
    shown = [f"{name}={getattr(self, name)!r}" for name, one in self._record_fields.items() if one.repr]
    return f"{type(self).__qualname__}({', '.join(shown)})"


def dataclass(cls: Any = None, /, *, frozen: bool = False, eq: bool = True, slots: bool = False) -> Any:
    """As ``dataclasses.dataclass``; ``slots`` is for type checkers alone."""
    if cls is None:
        return lambda cls: dataclass(cls, frozen=frozen, eq=eq)
    fields: dict[str, _Field] = {}
    for base in reversed(cls.__mro__[1:]):
        fields.update(base.__dict__.get("_record_fields", {}))
    for name, kind in cls.__dict__.get("__annotations__", {}).items():  # noqa: RUF063
        if kind.startswith("ClassVar"):
            continue
        one = cls.__dict__.get(name, _NONE)
        if isinstance(one, _Field):
            if one.default is _NONE:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
        else:
            one = _Field(one, None, True, True)
        fields[name] = one
    cls._record_fields = fields
    cls._record_values = attrgetter(*fields) if fields else tuple
    cls._record_count = [0]
    cls._record_defaults = {name: one.default for name, one in fields.items() if one.default is not _NONE}
    cls._record_simple = len(fields) if all(one.init for one in fields.values()) else -1
    methods: dict[str, Any] = {"__init__": _init, "__repr__": _repr}
    if eq:
        methods.update(__eq__=_equal, __hash__=_hash if frozen else None)
    if frozen:
        methods.update(__setattr__=_frozen_set, __delattr__=_frozen_delete)
    for name, method in methods.items():
        if name not in cls.__dict__ or (name == "__hash__" and cls.__dict__[name] is None):
            setattr(cls, name, method)
    cls._record_wanted = tuple(name for name, one in fields.items() if one.init)
    setattr(cls, "__match_args__", cls._record_wanted)  # noqa: B010
    return cls


def _init_slots(self: Any, *values: Any, **named: Any) -> None:
    cls: Any = type(self)
    _count(cls)
    put = object.__setattr__ if cls.__setattr__ is _frozen_set else setattr  # which is twice as fast
    for name, value in _made(cls, values, named).items():
        put(self, name, value)


def compact(cls: Any) -> Any:
    """A class that ``dataclass`` has made, with slots: for records of which there may be a million."""
    space = {name: value for name, value in cls.__dict__.items() if name not in cls._record_fields}
    for name in ("__dict__", "__weakref__"):
        space.pop(name, None)
    space.update(__slots__=tuple(cls._record_fields), __init__=_init_slots)
    return type(cls)(cls.__name__, cls.__bases__, space)


def replace(record: Any, /, **changes: Any) -> Any:
    """As ``dataclasses.replace``."""
    kept = {name: getattr(record, name) for name, one in record._record_fields.items() if one.init}
    return type(record)(**{**kept, **changes})


# -- Enumerations --------------------------------------------------------------------------------------------


class _Members(type):
    """Makes members of a class's plain values."""

    _members: dict[str, Any]
    _by_value: dict[Any, Any]

    def __new__(cls, name: str, bases: tuple[type, ...], space: dict[str, Any]) -> _Members:
        values = {
            key: value for key, value in space.items() if key[:1] != "_" and not hasattr(value, "__get__")
        }
        made = type.__new__(cls, name, bases, {key: space[key] for key in space if key not in values})
        made._members, made._by_value = {}, {}
        for key, value in values.items():
            member = made._by_value.get(value)
            if member is None:
                member = int.__new__(made, value) if issubclass(made, int) else object.__new__(made)
                member.__dict__.update(name=key, value=value)
                made._by_value[value] = member
                made._members[key] = member
            type.__setattr__(made, key, member)
        return made

    def __call__(cls, value: Any) -> Any:
        try:
            return cls._by_value[value]
        except KeyError:
            raise ValueError(f"{value!r} is not a valid {cls.__name__}") from None

    def __iter__(cls) -> Iterator[Any]:
        return iter(cls._members.values())

    def __len__(cls) -> int:
        return len(cls._members)

    def __getitem__(cls, name: str) -> Any:
        return cls._members[name]

    @property
    def __members__(cls) -> dict[str, Any]:
        return cls._members


class Enum(metaclass=_Members):
    """As ``enum.Enum``."""

    name: str
    value: Any

    def __repr__(self) -> str:
        return f"<{type(self).__name__}.{self.name}: {self.value!r}>"

    def __str__(self) -> str:
        return f"{type(self).__name__}.{self.name}"

    def __reduce__(self) -> Any:
        return type(self), (self.value,)


class IntEnum(int, Enum):
    """As ``enum.IntEnum``."""

    __str__ = int.__repr__

    def __reduce__(self) -> Any:
        return type(self), (self.value,)
