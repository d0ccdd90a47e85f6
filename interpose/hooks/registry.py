"""Hooks: which functions of the program are to be replaced by which in Python, and how those are called."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, NamedTuple

from interpose.hooks.errors import HookError, printable
from interpose.hooks.port import INTEGER_REGISTERS, VECTOR_REGISTERS
from interpose.hooks.types import MASK, WORD, CInt, CType, ctype_of
from interpose.redir.model import is_unfit_for_hooks
from interpose.zenc import Kind, RedirectName

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interpose.hooks.live import Server
    from interpose.hooks.port import Port
    from interpose.hooks.remote import RemoteHook

LIMIT = 4096
"""How many hooks there may be (IP_HOOK_ENTRIES)."""


class Place(NamedTuple):
    """Where a function finds an argument."""

    kind: str
    """``i``: an integer register, ``v``: a vector register, ``s``: a word on the stack."""
    number: int


class Places:
    """Gives arguments their places, in order (System V ABI, AMD64 supplement, 3.2.3)."""

    def __init__(self) -> None:
        self._integers = self._vectors = self._words = 0

    def copy(self) -> Places:
        made = Places()
        made._integers, made._vectors, made._words = self._integers, self._vectors, self._words
        return made

    @property
    def words(self) -> int:
        """How many words on the stack have been given."""
        return self._words

    def next(self, kind: CType) -> Place:
        if kind.is_float and self._vectors < VECTOR_REGISTERS:
            self._vectors += 1
            return Place("v", self._vectors - 1)
        if not kind.is_float and self._integers < INTEGER_REGISTERS:
            self._integers += 1
            return Place("i", self._integers - 1)
        self._words += 1
        return Place("s", self._words - 1)


class Signature(NamedTuple):
    """What a hook's annotations say of the function that it stands for."""

    parameters: tuple[tuple[str, CType, Place], ...]
    result: CType | None
    """None: nothing is returned."""
    declares_result: bool
    after: Places
    """Where a variadic function's other arguments are."""


class Hook:
    """One decorated function.

    :ivar number: its place among the hooks of its registry.
    :ivar rule: what it binds to, as the name of a wrapper in C says it.
    :ivar told: what it is called in messages.
    """

    def __init__(self, function: Callable[..., Any], rule: RedirectName, number: int) -> None:
        code = inspect.unwrap(function).__code__
        self.function = function
        self.rule = rule
        self.number = number
        self.name = function.__name__
        self.file = code.co_filename
        self.line = code.co_firstlineno
        self.signature = read_signature(function)
        self.connection = None
        self.told = f"hook {self.name} ({self.place})".encode("utf-8", "surrogateescape")

    @property
    def needs_result(self) -> bool:
        """Whether it must return something where it has not called the original."""
        return self.signature.declares_result and self.signature.result is not None

    @property
    def words(self) -> int:
        """How many words on the stack it declares."""
        return self.signature.after.words

    @property
    def mask(self) -> int:
        """The bits of RAX that its result has."""
        kind = self.signature.result
        if kind is None:
            return 0
        return (1 << kind.bits) - 1 if isinstance(kind, CInt) else MASK

    def execute(self, port: Port) -> tuple[int | None, int | None]:
        """Run it: words for RAX and XMM0, None where the original's stay."""
        from interpose.hooks.call import run

        return run(self, port)

    @property
    def place(self) -> str:
        return f"{self.file}:{self.line}"


def read_signature(function: Callable[..., Any]) -> Signature:
    """The types of a hook's parameters; a TypeError says what is wrong with it."""
    try:
        signature = inspect.signature(function, eval_str=True)
    except NameError as error:
        raise TypeError(f"an annotation cannot be understood: {error}") from None
    except (SyntaxError, AttributeError, TypeError) as error:
        raise TypeError(f"an annotation cannot be understood: {error}") from None
    declared = list(signature.parameters.values())
    for parameter in declared:
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise TypeError(f"parameter {parameter.name} must be a plain one; others are in call.args")
        if parameter.default is not parameter.empty:
            raise TypeError(
                f"parameter {parameter.name} must not have a default: the program gives its value"
            )
    if not declared:
        raise TypeError("its first parameter must be the call")
    places = Places()
    found = []
    for parameter in declared[1:]:
        kind = WORD if parameter.annotation is parameter.empty else ctype_of(parameter.annotation)
        if kind is None:
            raise TypeError(
                f"the annotation of {parameter.name} is no type of C's: {parameter.annotation!r:.80}"
            )
        found.append((parameter.name, kind, places.next(kind)))
    declares = signature.return_annotation is not signature.empty
    result: CType | None = WORD
    if declares:
        result = None if signature.return_annotation is None else ctype_of(signature.return_annotation)
        if result is None and signature.return_annotation is not None:
            raise TypeError(
                f"the annotation of the result is no type of C's: {signature.return_annotation!r:.80}"
            )
    return Signature(tuple(found), result, declares, places)


class Registry:
    """Hooks in the order of their definition; earlier ones win, as with wrappers in C.

    The decorators :func:`interpose.wrap` and :func:`interpose.replace` put hooks into the registry of the
    file that is being loaded; those of a registry made by hand put them there::

        hooks = interpose.hooks.Registry()

        @hooks.wrap("libc.so*", "open")
        def open(call, path: interpose.CString, flags: int) -> int: ...
    """

    def __init__(self) -> None:
        self._hooks: list[Hook | RemoteHook] = []

    def __iter__(self) -> Iterator[Hook | RemoteHook]:
        return iter(self._hooks)

    def __len__(self) -> int:
        return len(self._hooks)

    def __getitem__(self, number: int) -> Hook | RemoteHook:
        return self._hooks[number]

    def wrap(
        self, soname: str, function: str, *, tag: int = 0, priority: int = 0
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """Decorate a function that goes around those that match.

        ``soname`` and ``function`` are patterns (``*`` and ``?``); ``NONE`` is an object without a soname.
        ``tag`` (0 to 9999) is the class of behaviour: of two rules of one class the one with the higher
        ``priority`` (0 to 9) holds, else the first.
        """
        return self._decorator("wrap", Kind.WRAP, soname, function, tag, priority)

    def replace(
        self, soname: str, function: str, *, tag: int = 0, priority: int = 0
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        """The same for a function that is called instead of the original."""
        return self._decorator("replace", Kind.REPLACE, soname, function, tag, priority)

    def add(self, hooks: Iterable[RemoteHook]) -> None:
        """Take hooks of another process, which have their numbers."""
        self._hooks += hooks

    def serve(self) -> Server:
        """Offer these hooks to programs: ``--hooks=`` and the :attr:`Server.option` of what is returned.

        They run in this process, as long as the server is open (it is a context manager).
        """
        from interpose.hooks.live import Server

        return Server(self)

    def _decorator(
        self, name: str, kind: Kind, soname: str, function: str, tag: int, priority: int
    ) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
        if callable(soname) or not isinstance(soname, str) or not isinstance(function, str):
            raise TypeError(
                f'{name} takes the soname and the function: @interpose.{name}("libc.so*", "open")'
            )
        if not soname or not function:
            raise TypeError(f"{name} needs a soname and a function, not an empty text")
        for text in (soname, function):
            if printable(text) != text:
                raise TypeError(f"no object or function can have the name {printable(text)}")
        if is_unfit_for_hooks(function):
            raise TypeError(
                f"{function} returns twice, or is not called as functions are: it cannot be hooked"
            )
        try:
            rule = RedirectName(kind, soname, function, int(tag), int(priority))
        except ValueError as error:
            raise TypeError(str(error)) from None

        def decorate(hook: Callable[..., Any]) -> Callable[..., Any]:
            if not inspect.isfunction(hook):
                raise TypeError(f"{name} decorates functions, not {type(hook).__name__}")
            if inspect.iscoroutinefunction(hook) or inspect.isgeneratorfunction(hook):
                raise TypeError(f"{hook.__name__} must be a plain function, no generator and not async")
            number = self._number_for(hook, rule)
            if number >= LIMIT:
                raise TypeError(f"there are more than {LIMIT} hooks")
            try:
                self._hooks[number : number + 1] = [Hook(hook, rule, number)]
            except TypeError as error:
                raise TypeError(f"{hook.__name__}: {error}") from None
            return hook

        return decorate

    def _number_for(self, function: Callable[..., Any], rule: RedirectName) -> int:
        """The place of a hook.

        In a registry made by hand, a function that is defined anew takes its former place: a notebook's cell
        is run again. In files that ``--hooks`` names the first one holds.
        """
        if self not in _current:
            for number, each in enumerate(self._hooks):
                if isinstance(each, Hook) and each.rule == rule and _is_anew(each.function, function):
                    return number
        return len(self._hooks)


def _is_anew(former: Callable[..., Any], function: Callable[..., Any]) -> bool:
    return (former.__module__, former.__qualname__) == (function.__module__, function.__qualname__)


_current: list[Registry] = []


def current(name: str) -> Registry:
    """The registry of the file of hooks that is being loaded."""
    if not _current:
        raise HookError(
            f"interpose.{name} is for files that --hooks names; elsewhere use interpose.Registry().{name}"
        )
    return _current[-1]


def begin(registry: Registry) -> None:
    """The decorators of the package put hooks here from now on."""
    _current.append(registry)


def end() -> None:
    """They put hooks where they did before the last :func:`begin`."""
    _current.pop()


def wrap(
    soname: str, function: str, *, tag: int = 0, priority: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """:meth:`Registry.wrap` of the registry of the file that ``--hooks`` loads."""
    return current("wrap").wrap(soname, function, tag=tag, priority=priority)


def replace(
    soname: str, function: str, *, tag: int = 0, priority: int = 0
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """:meth:`Registry.replace` of the registry of the file that ``--hooks`` loads."""
    return current("replace").replace(soname, function, tag=tag, priority=priority)
