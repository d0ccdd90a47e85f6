"""``cached_property``, ``suppress`` and ``cache`` for the modules that every run loads.

``functools`` and ``contextlib`` bring ``collections``, ``operator``, ``reprlib`` and ``types`` with them,
3 ms.  Type checkers are shown the originals::

    if TYPE_CHECKING:
        from functools import cached_property
    else:
        from interpose.plain import cached_property
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class cached_property:
    """As ``functools.cached_property``, which has a lock for threads that nobody here has."""

    def __init__(self, work: Callable[[Any], Any]) -> None:
        self._work = work
        self.__doc__ = work.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        value = instance.__dict__[self._name] = self._work(instance)
        return value


class suppress:
    """As ``contextlib.suppress``."""

    def __init__(self, *errors: type[BaseException]) -> None:
        self._errors = errors

    def __enter__(self) -> None:
        """Nothing to do."""

    def __exit__(self, kind: type[BaseException] | None, *rest: object) -> bool:
        return kind is not None and issubclass(kind, self._errors)


_MOST = 8192


def cache(work: Callable[..., Any]) -> Callable[..., Any]:
    """As ``functools.lru_cache`` for arguments by position, but that all goes when there is no room."""
    known: dict[tuple[Any, ...], Any] = {}

    def answer(*arguments: Any) -> Any:
        if arguments in known:
            return known[arguments]
        value = work(*arguments)
        if len(known) >= _MOST:
            known.clear()
        known[arguments] = value
        return value

    answer.__name__, answer.__doc__ = work.__name__, work.__doc__
    return answer
