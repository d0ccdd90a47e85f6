"""Rules that look into the same objects: what an object has nothing of is found out once for all of them."""

from __future__ import annotations

from interpose.wildcards import compile_pattern, longest_piece

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.redir.model import CodeObject, Specification

_TELLING = 3
"""Bytes of a last part (``_avx``) that few names have."""


def family_key(spec: Specification) -> tuple[str, bool]:
    """What decides which objects a rule looks into."""
    return spec.soname, spec.global_only


class Family:
    """Rules with one :func:`family_key`.

    :ivar pieces: the rules, first come first, and what all names that each looks for contain, whatever their
        versions.
    """

    def __init__(self, key: tuple[str, bool]) -> None:
        self.pieces: dict[Specification, str] = {}
        self._matches = compile_pattern(key[0])
        self._spares_linker = key[1]
        self._parts: tuple[bytes, ...] | None = None
        self._names: tuple[bytes, ...] | None = None
        """What the rules look for, if each looks for one name."""

    def add(self, spec: Specification) -> None:
        """One more rule."""
        self.pieces[spec] = longest_piece(spec.function.partition("@")[0])
        self._parts = None

    def remove(self, spec: Specification) -> None:
        """A rule that has gone."""
        del self.pieces[spec]
        self._parts = None

    def wants(self, obj: CodeObject) -> bool:
        """Whether the rules look for functions in ``obj`` at all."""
        return bool(self._matches(obj.soname)) and not (self._spares_linker and obj.is_dynamic_linker)

    def may_match(self, obj: CodeObject) -> bool:
        """False if no rule finds a function in ``obj``."""
        if self._parts is None:
            self._parts = tuple({_part(piece): None for piece in self.pieces.values()})
            bare = {spec.function.partition("@")[0]: piece for spec, piece in self.pieces.items()}
            is_plain = all(name == piece for name, piece in bare.items())
            self._names = tuple(map(_encoded, bare)) if is_plain else None
        if self._names is not None:
            return obj.may_define_one_of(self._names)
        return obj.may_hold_one_of(self._parts)


def _part(piece: str) -> bytes:
    """A part of it, the shorter the fewer rules differ in it."""
    last = piece[max(piece.rfind("_"), 0) :]
    return _encoded(last if len(last) >= _TELLING else piece)


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
