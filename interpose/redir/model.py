"""The nouns of redirection: what is mapped, who claims what, and which claims are in effect.

See docs/spec/redirection.md section 1 (classes, priorities), section 3 (scope) and section 4 (specification,
active binding).
"""

from __future__ import annotations

from interpose.zenc import Kind

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from dataclasses import dataclass, field
    from enum import Enum
    from functools import cached_property
    from typing import Any, NamedTuple, Protocol
else:
    from interpose.plain import cached_property
    from interpose.records import Enum, NamedTuple, dataclass, field

NO_SONAME = "NONE"
UNKNOWN = "???"


class Symbol(NamedTuple):
    """One ELF symbol. ``name`` may carry its version (``memcpy@@GLIBC_2.14``); ``address`` is link-time."""

    name: str
    address: int
    size: int = 0
    is_global: bool = True
    is_ifunc: bool = False
    is_text: bool = True


class SymbolColumns(NamedTuple):
    """Many symbols: the fields of :class:`Symbol`, each for all of them."""

    names: Sequence[str] = ()
    addresses: Sequence[int] = ()
    sizes: Sequence[int] = ()
    is_global: Sequence[int] = ()
    is_ifunc: Sequence[int] = ()
    is_text: Sequence[int] = ()

    @classmethod
    def of(cls, symbols: SymbolTuples | SymbolColumns) -> SymbolColumns:
        return symbols if isinstance(symbols, SymbolColumns) else cls(*zip(*symbols, strict=True))


if TYPE_CHECKING:
    SymbolTuples = Iterable[tuple[str, int, int, bool, bool, bool]]
    SymbolSource = SymbolTuples | SymbolColumns | Callable[[], SymbolTuples | SymbolColumns]

    class NameSource(Protocol):
        """What tells cheaply which names no symbol of an object has."""

        def may_hold(self, *parts: bytes) -> bool:
            """False if no symbol's name contains any of these."""

        def may_define(self, names: tuple[bytes, ...]) -> bool:
            """False if no symbol has one of these names, with a version or without."""


class SymbolTable:
    """The symbols of one file, taken from their source when first asked for.

    It knows no address at which the file is mapped, so that all objects that are mapped from the file, one
    after the other or at once, may have it in common.
    """

    def __init__(self, source: SymbolSource) -> None:
        self._source: SymbolSource | None = source if callable(source) else SymbolColumns.of(source)
        self.indexes: dict[tuple[tuple[int, int], ...], Any] = {}
        """What :mod:`interpose.redir.index` makes of them, by the link-time ranges of the text."""

    @cached_property
    def columns(self) -> SymbolColumns:
        source, self._source = self._source, None
        found = source() if callable(source) else source
        return SymbolColumns.of(found or ())

    @cached_property
    def symbols(self) -> tuple[Symbol, ...]:
        return tuple(map(Symbol, *self.columns))


@dataclass(frozen=True, eq=False)
class CodeObject:
    """A mapped ELF object as the engine announces it; compared by identity.

    ``text_ranges`` are half-open runtime ranges; the runtime address of a symbol is its own plus
    ``load_bias``. Symbols outside of the text ranges neither redirect nor are redirected. ``is_tools``: it
    holds the replacements of the tool that runs.
    """

    path: str
    text_ranges: tuple[tuple[int, int], ...]
    soname: str = NO_SONAME
    load_bias: int = 0
    is_tools: bool = False
    table: SymbolTable = field(init=False, repr=False)
    _names: NameSource | None = field(init=False, repr=False)

    def __init__(
        self,
        path: str,
        text_ranges: Iterable[tuple[int, int]],
        symbols: SymbolSource | SymbolTable,
        soname: str | None = NO_SONAME,
        load_bias: int = 0,
        names: NameSource | None = None,
        is_tools: bool = False,
    ) -> None:
        """Accept plain tuples as symbols, a function that returns them, or a file's table of them; no soname
        becomes ``NONE``.

        Objects of which ``names`` tells that they interest no rule need not give their symbols.
        """
        for name, value in (
            ("path", path),
            ("text_ranges", tuple(text_ranges)),
            ("soname", soname or NO_SONAME),
            ("load_bias", load_bias),
            ("is_tools", is_tools),
            ("table", symbols if isinstance(symbols, SymbolTable) else SymbolTable(symbols)),
            ("_names", names),
        ):
            object.__setattr__(self, name, value)

    @property
    def symbols(self) -> tuple[Symbol, ...]:
        return self.table.symbols

    def may_hold(self, part: str) -> bool:
        """False if no symbol's name contains ``part``."""
        return self._names is None or self._names.may_hold(part.encode("utf-8", "surrogateescape"))

    def may_hold_one_of(self, parts: tuple[bytes, ...]) -> bool:
        """False if no symbol's name contains any of ``parts``."""
        return self._names is None or self._names.may_hold(*parts)

    def may_define_one_of(self, names: tuple[bytes, ...]) -> bool:
        """False if no symbol has one of these names, with a version or without."""
        return self._names is None or self._names.may_define(names)

    def may_hold_piece(self, piece: str) -> bool:
        """The same as :meth:`may_hold`, for pieces that often end alike.

        Rules come in families (`__strlen_avx*`, `__strchr_avx*`): what no name has of a family's last part is
        looked for once, not once for each of a hundred rules in the string tables of a large program.
        """
        cut = piece.rfind("_")
        if cut > 0:
            part = piece[cut:]
            held = self._parts.get(part)
            if held is None:
                held = self._parts[part] = self.may_hold(part)
            if not held:
                return False
        return self.may_hold(piece)

    @cached_property
    def _parts(self) -> dict[str, bool]:
        return {}

    @property
    def is_dynamic_linker(self) -> bool:
        return self.soname.startswith("ld") and ".so" in self.soname  # ld*.so*

    def contains(self, address: int) -> bool:
        """Tell whether the runtime ``address`` is in the object's text."""
        return any(start <= address < end for start, end in self.text_ranges)


@dataclass(frozen=True, slots=True, eq=False)
class Specification:
    """A rule: functions that match ``function`` in objects that match ``soname`` go to ``target``.

    ``soname`` is the pattern after the replacement of synonyms. ``order`` tells who came first.
    ``global_only`` restricts the rule to global symbols and spares the dynamic linker. ``owner`` is None
    for a hardwired rule.
    """

    order: int
    kind: Kind
    soname: str
    function: str
    target: int
    size: int = 0
    tag: int = 0
    priority: int = 0
    global_only: bool = False
    target_name: str = UNKNOWN
    owner: CodeObject | None = None

    @property
    def is_tools(self) -> bool:
        """A replacement that the tool brings."""
        return self.kind is Kind.REPLACE and self.owner is not None and self.owner.is_tools

    @property
    def is_tools_wrapper(self) -> bool:
        """A wrapper that the tool brings."""
        return self.kind is Kind.WRAP and self.owner is not None and self.owner.is_tools

    @property
    def is_users(self) -> bool:
        """A wrapper or replacement that neither the core nor the tool brings."""
        return self.owner is not None and not self.owner.is_tools

    @property
    def wants_original(self) -> bool:
        """A replacement that is told what it stands for: one in Python goes on with that when it fails."""
        return self.owner is not None and not self.owner.text_ranges

    def may_bind(self, address: int) -> bool:
        """False where the binding would lead to itself or start inside the redirecting function."""
        start, end = self.own_range
        return not start <= address < end

    @property
    def own_range(self) -> tuple[int, int]:
        """Where it may not bind."""
        return self.target, self.target + max(self.size, 1)

    def outranks(self, earlier: Specification) -> bool:
        """Tell whether this later claim on an address takes it from the ``earlier`` one."""
        return self.tag == earlier.tag != 0 and self.priority > earlier.priority


class ActiveBinding(NamedTuple):
    """A code address whose execution goes to ``target`` instead.

    With ``is_ifunc`` the address is the resolver of an indirect function: the binding waits for the
    functions that the resolver returns. ``symbol`` and ``soname`` describe the address, for reports.
    A wrapper of a function that the tool replaces goes around the replacement: ``inner`` is its rule then,
    and what the wrapper calls as the original is its target.
    """

    address: int
    target: int
    kind: Kind
    tag: int
    priority: int
    spec: Specification
    symbol: str = UNKNOWN
    soname: str = UNKNOWN
    is_ifunc: bool = False
    inner: Specification | None = None


_UNFIT = frozenset(
    """
    vfork __vfork setjmp _setjmp sigsetjmp __sigsetjmp savectx getcontext
    _start __restore_rt __fentry__ mcount _mcount __mcount
    """.split()
)
_UNFIT_FAMILIES = ("_dl_runtime_resolve", "_dl_runtime_profile", "_dl_tlsdesc_")


def is_unfit_for_hooks(function: str) -> bool:
    """Whether nothing may stand on the stack between a function, by its symbol, and its caller.

    It returns twice, when what was kept there is gone, or it is not called as functions are.
    """
    name = function.partition("@")[0].removeprefix("__GI_")
    return name in _UNFIT or name.startswith(_UNFIT_FAMILIES)


class Verdict(Enum):
    """What happened to the newcomer of two claims on one address."""

    CONFLICT = "conflict"
    PREFERRED = "preferred"
    LOWER = "lower"
    DUPLICATE = "duplicate"


@dataclass(frozen=True, slots=True)
class Conflict:
    """Two claims on one address, ``old`` before ``new`` in the order of specifications."""

    verdict: Verdict
    old: ActiveBinding
    new: ActiveBinding
