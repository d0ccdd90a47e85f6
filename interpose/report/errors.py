"""Errors as records, and the manager that compares, counts, limits and lists them.

The text is that of docs/spec/output.md section 3.

A tool describes an error once, as data; the manager decides whether it is new, suppressed, to be shown, and
asks for the costly part (what the address is) only then.
"""

from __future__ import annotations

from .stack import Stack, StackResolver
from .suppressions import GeneratedSuppression, Suppression, Suppressions, generate

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Sequence
    from dataclasses import dataclass, replace
    from enum import Enum
    from typing import Any, NamedTuple, Protocol, TypeVar

    from .suppressions import Use

    T = TypeVar("T")

    def compact(cls: type[T]) -> type[T]: ...
else:
    from interpose.records import Enum, NamedTuple, compact, dataclass, replace

    Protocol = object

FEWER_FRAMES_AFTER = 100
_OF_A_PROCESS = (
    *("frames", "stopped", "must_exit", "contexts", "suppressed", "suppressed_contexts", "shown"),
    *("_index", "_recorded", "_clock", "_next_unique", "_asking", "_found"),
)
MAX_SHOWN = 1_000
MAX_FOUND = 10_000_000
FRAMES_COMPARED = 4
FRAMES_COMPARED_LATER = 2


class ErrorKind(NamedTuple):
    """One row of a tool's table of kinds: XML kind, suppression component and kind."""

    xml: str
    suppression: str
    component: str


@compact
@dataclass(frozen=True)
class AuxPart:
    """Text after the error's own stack, with a stack of its own or not; in XML ``auxwhat``/``xauxwhat``."""

    text: str
    stack: Stack | None = None
    file: str | None = None
    line: int | None = None
    dir: str | None = None
    role: str = ""
    """``origin`` of the part that says where an undefined value came from."""


@compact
@dataclass
class Error:
    """One error.  ``tid`` 0 means that no thread is responsible (no header)."""

    kind: ErrorKind
    tid: int
    what: tuple[str, ...]
    stack: Stack | None
    inner: Stack = ()
    """What is left out before the stack (:meth:`StackResolver.of_call`)."""
    thread_name: str | None = None
    extra: Hashable = None
    """What two errors must agree in beside kind and stack to be one."""
    suppression_extra: str | None = None
    aux: tuple[AuxPart, ...] = ()
    size: int = 0
    what_in_xml: str | None = None
    """Where Valgrind's XML has another text."""
    leaked: tuple[int, int] | None = None
    """Bytes and blocks of a leak."""
    leak_kind: str | None = None
    address: int | None = None
    """The address that an error is about."""
    facts: dict[str, Any] | None = None
    """What else programs that read the report are told, by the names of docs/json.md."""
    fd: int | None = None
    path: str | None = None
    """File descriptor and its file, of the core's errors about descriptors."""
    unique: int = 0
    count: int = 0
    suppressed_by: Suppression | None = None
    last_seen: int = 0

    def key(self, frames: int) -> Hashable:
        """Equal for errors that count as one when ``frames`` frames are compared."""
        stack = self.stack[:frames] if self.stack is not None else None
        return (self.kind, self.extra, stack)


@dataclass
class ErrorOptions:
    """The options of docs/spec/options.md section 3 that govern errors."""

    error_limit: bool = True
    exit_on_first_error: bool = False
    error_exitcode: int = 0
    show_error_list: str = "no"
    gen_suppressions: str = "no"
    verbosity: int = 1
    xml: bool = False

    def lists_errors(self) -> bool:
        """Whether the list at the end is wanted (the option table makes ``-v`` and XML imply it)."""
        return self.show_error_list != "no"


class Outcome(Enum):
    """What became of a reported error."""

    SHOWN = "shown"
    HIDDEN = "hidden"
    DUPLICATE = "duplicate"
    SUPPRESSED = "suppressed"
    OVER_LIMIT = "over limit"


class ErrorSink(Protocol):
    """Where errors are printed: text or XML."""

    def show(self, error: Error, /) -> None: ...
    def suppressed(self, error: Error, /) -> None: ...
    def again(self, error: Error, candidate: GeneratedSuppression | None, /) -> None: ...
    def message(self, *lines: str) -> None: ...
    def suppression(self, candidate: GeneratedSuppression, /) -> None: ...


class Sinks:
    """Several sinks as one."""

    def __init__(self, *sinks: ErrorSink) -> None:
        self._sinks = sinks

    def show(self, error: Error) -> None:
        for sink in self._sinks:
            sink.show(error)

    def suppressed(self, error: Error) -> None:
        for sink in self._sinks:
            sink.suppressed(error)

    def again(self, error: Error, candidate: GeneratedSuppression | None) -> None:
        for sink in self._sinks:
            sink.again(error, candidate)

    def message(self, *lines: str) -> None:
        for sink in self._sinks:
            sink.message(*lines)

    def suppression(self, candidate: GeneratedSuppression) -> None:
        for sink in self._sinks:
            sink.suppression(candidate)


class PlainLog(Protocol):
    """The part of a log that the manager itself writes to."""

    def plain(self, text: str, /) -> None: ...
    def debug(self, text: str, /) -> None: ...
    def question(self, text: str, /) -> None: ...


if TYPE_CHECKING:
    Describe = Callable[[], Sequence[AuxPart]]
    Branch = tuple[dict[str, Any], Sequence[Use]]

_GO_FIX = (
    "Final error counts will be inaccurate.  Go fix your program!",
    "Rerun with --error-limit=no to disable this cutoff.  Note",
    "that errors may occur in your program without prior warning from",
    "Valgrind, because errors are no longer being displayed.",
    "",
)


def _nobody() -> None:
    """Nobody wants to know."""


class ErrorManager:
    """All errors of a run."""

    def __init__(
        self,
        options: ErrorOptions,
        resolver: StackResolver,
        suppressions: Suppressions,
        sink: ErrorSink,
        log: PlainLog,
        read_answer: Callable[[], str] = lambda: "",
    ) -> None:
        """``read_answer``: a character of what is answered to ``--gen-suppressions=yes``; "" at the end."""
        self.options = options
        self.resolver = resolver
        self.suppressions = suppressions
        self.sink = sink
        self.log = log
        self._read_answer = read_answer
        self._index: dict[Hashable, Error] = {}
        self.frames = FRAMES_COMPARED
        """How many of an error's stack are compared."""
        self._recorded: list[Error] = []
        self._clock = 0
        self._next_unique = 0
        self.stopped = False
        """A limit was reached, and that was said: no more errors are taken."""
        self._asking = True
        self.must_exit = False
        """Set by ``--exit-on-first-error=yes`` after the first shown error: the run is to end."""
        self.outdated: Callable[[], None] = _nobody
        """Called when what the program may ask about errors changes."""
        self._found = 0
        self.contexts = 0
        self.suppressed = 0
        self.suppressed_contexts = 0
        self.shown = 0

    def renumber(self, number: Callable[[Stack], Stack]) -> None:
        """Addresses mean something else from now on: those of the errors so far get numbers of their own."""
        for error in self._recorded:
            if error.stack is not None:
                error.stack = number(error.stack)
            error.aux = tuple(
                part if part.stack is None else replace(part, stack=number(part.stack)) for part in error.aux
            )
        self._index = {}
        for error in sorted(self._recorded, key=lambda error: error.last_seen):
            self._index[error.key(self.frames)] = error

    @property
    def errors_found(self) -> int:
        """Errors that are not suppressed."""
        return self._found

    @errors_found.setter
    def errors_found(self, count: int) -> None:
        self._found = count
        self.outdated()

    # -- reporting ------------------------------------------------------------------------------------------

    def report(self, error: Error, describe: Describe | None = None) -> Outcome:
        """Take an error that happened; ``describe`` yields its auxiliary parts, for new errors only."""
        if self._over_limit():
            return Outcome.OVER_LIMIT
        if self.shown >= FEWER_FRAMES_AFTER and self.frames == FRAMES_COMPARED:
            self._compare_fewer_frames()
        self._clock += 1
        key = error.key(self.frames)
        known = self._index.get(key)
        if known is not None:
            known.count += 1
            known.last_seen = self._clock
            if known.suppressed_by is not None:
                self.suppressed += 1
                known.suppressed_by.count += 1
            else:
                self.errors_found += 1
            return Outcome.DUPLICATE
        self._number(error)
        error.count = 1
        error.last_seen = self._clock
        entry = self._suppression_of(error)
        error.suppressed_by = entry
        if describe is not None and (entry is None or self.options.show_error_list == "all"):
            error.aux = (*error.aux, *describe())
        self._index[key] = error
        self._recorded.append(error)
        if entry is not None:
            self.suppressed += 1
            self.suppressed_contexts += 1
            self.sink.suppressed(error)
            return Outcome.SUPPRESSED
        self.errors_found += 1
        self.contexts += 1
        self._show(error)
        return Outcome.SHOWN

    def reached_limit(self) -> bool:
        """Whether no more errors are wanted; says so, once."""
        return self._over_limit()

    def known(self, error: Error) -> Error:
        """The recorded error that an error just reported counts as."""
        return self._index.get(error.key(self.frames), error)

    def again(self, error: Error, times: int) -> None:
        """A known error was met ``times`` more times (the runtime counts repetitions by itself)."""
        if error.count == 0:
            return
        error.count += times
        if error.suppressed_by is not None:
            self.suppressed += times
            error.suppressed_by.count += times
        else:
            self.errors_found += times

    def report_unique(
        self, error: Error, *, show: bool, counts: bool, before: Callable[[], None] | None = None
    ) -> Outcome:
        """Take an error that is one of a kind (a loss record): never compared, listed nowhere.

        No limit holds for these, but they count for those of other errors, as in Valgrind: what a limit has
        to say comes with the next error that is compared, never among loss records.

        ``counts``: it is an error, not merely information; ``show``: print it unless it is suppressed, and
        call ``before`` first.
        """
        self._number(error)
        error.count = 1
        entry = self._suppression_of(error)
        error.suppressed_by = entry
        if entry is not None:
            if counts:
                self.suppressed += 1
                self.suppressed_contexts += 1
            if show:
                self.sink.suppressed(error)
            return Outcome.SUPPRESSED
        if counts:
            self.errors_found += 1
            self.contexts += 1
        if not show:
            return Outcome.HIDDEN
        if before is not None:
            before()
        self._show(error, counts=counts)
        return Outcome.SHOWN

    def count_unique(self, counts: bool) -> None:
        """The same for one that is not shown and that no suppression concerns."""
        self.skip_numbers(1)
        self.errors_found += counts
        self.contexts += counts

    def skip_numbers(self, count: int) -> None:
        """Errors that nobody is told of have numbers, too."""
        self._next_unique += count

    def _suppression_of(self, error: Error) -> Suppression | None:
        """The entry that matches; frames are looked up only if some entry is of this kind at all."""
        if not self.suppressions.concern(error):
            return None
        stack, most = error.stack or (), self.resolver.options.num_callers
        found = self.suppressions.match(error, self.resolver.all_frames(stack), most)
        if found is None and error.inner:
            # Valgrind up to 3.24 has these frames, and so have suppressions that it made.
            found = self.suppressions.match(error, self.resolver.all_frames(error.inner + stack), most)
        return found

    def _number(self, error: Error) -> None:
        error.unique = self._next_unique
        self._next_unique += 1

    def _over_limit(self) -> bool:
        if not self.options.error_limit:
            return False
        if self.stopped:
            return True
        if self.shown >= MAX_SHOWN:
            which = f"More than {MAX_SHOWN} different errors detected.  I'm not reporting any more."
        elif self.errors_found >= MAX_FOUND:
            which = f"More than {MAX_FOUND} total errors detected.  I'm not reporting any more."
        else:
            return False
        self.stopped = True
        self.sink.message("", which, *_GO_FIX)
        return True

    def _show(self, error: Error, *, counts: bool = True) -> None:
        self.shown += 1
        self.sink.show(error)
        self._generate(error)
        if self.options.exit_on_first_error and counts and not self.must_exit:
            self.must_exit = True
            self.sink.message("", "Exit program on first error (--exit-on-first-error=yes)")

    def _compare_fewer_frames(self) -> None:
        self.frames = FRAMES_COMPARED_LATER
        self._index = {}
        # Of errors that now count as one, the one seen last takes what follows.
        for error in sorted(self._recorded, key=lambda error: error.last_seen):
            self._index[error.key(self.frames)] = error
        if not self.options.xml:  # with a document Valgrind does not say so in its log either
            self.sink.message(
                "",
                f"More than {FEWER_FRAMES_AFTER} errors detected.  Subsequent errors",
                "will still be recorded, but in less detail than before.",
            )

    def _generate(self, error: Error) -> None:
        wanted = self.options.gen_suppressions
        if wanted == "no" or (wanted == "yes" and not self._confirmed()):
            return
        candidate = generate(error, self.resolver.frames(error.stack or ()))
        if candidate is None:
            self.sink.message("(No origin, error cannot be suppressed)")
        else:
            self.sink.suppression(candidate)

    def _confirmed(self) -> bool:
        """The prompt of docs/spec/suppressions.md section 3: ``C`` asks no more, ``Y`` prints.

        An answer is one of the letters and the end of the line; whatever else comes is asked again.
        """
        if not self._asking:
            return False
        self.sink.message("")
        while True:
            self.log.question("---- Print suppression ? --- [Return/N/n/Y/y/C/c] ----")
            letter = self._read_answer()
            if letter == "\n":
                return False
            end = self._read_answer() if letter and letter in "NnYyCc" else letter
            if end not in ("", "\n"):
                continue
            if letter in "Cc" or not end:  # nothing comes any more: nobody is there to answer
                self._asking = False
            return letter in "Yy" and bool(end)

    # -- several processes ----------------------------------------------------------------------------------

    def branch(self) -> Branch:
        """Errors and counts so far, for a copy of the process to go on with (:meth:`exchange`)."""
        copies = {id(error): replace(error) for error in self._recorded}
        state = {name: getattr(self, name) for name in _OF_A_PROCESS}
        state["_recorded"] = [copies[id(error)] for error in self._recorded]
        state["_index"] = {key: copies[id(error)] for key, error in self._index.items()}
        return state, self.suppressions.uses()

    def exchange(self, branch: Branch) -> Branch:
        """Go on as another process; returns what was so far, to go on with later."""
        left = {name: getattr(self, name) for name in _OF_A_PROCESS}, self.suppressions.uses()
        for name, value in branch[0].items():
            setattr(self, name, value)
        self.suppressions.used_so(branch[1])
        self.outdated()
        return left

    # -- the end --------------------------------------------------------------------------------------------

    def counts(self) -> list[tuple[int, int]]:
        """Number and occurrences of each error that is not suppressed, loss records left out."""
        return [(error.unique, error.count) for error in self._recorded if error.suppressed_by is None]

    def recorded(self) -> list[Error]:
        """Every distinct error but loss records, the one seen last first."""
        return sorted(self._recorded, key=lambda error: -error.last_seen)

    def exit_status(self, status: int) -> int:
        """The exit status under ``--error-exitcode`` (docs/spec/output.md section 9)."""
        code = self.options.error_exitcode
        # A negative one counts for the first error alone, which the run ends at.
        if self.must_exit or (self.errors_found and code > 0):
            return code & 0xFF  # what exit() of it would leave
        return status

    def summary_line(self) -> str:
        return (
            f"ERROR SUMMARY: {self.errors_found} errors from {self.contexts} contexts "
            f"(suppressed: {self.suppressed} from {self.suppressed_contexts})"
        )

    def show_list(self, also_suppressed: bool | None = None) -> bool:
        """One block for each context, fewest occurrences first; whether there are any."""
        everything = self.options.show_error_list == "all" if also_suppressed is None else also_suppressed
        listed = [error for error in self.recorded() if everything or error.suppressed_by is None]
        listed.sort(key=lambda error: error.count)
        total = self.contexts + (self.suppressed_contexts if everything else 0)
        for number, error in enumerate(listed, 1):
            by = f" (suppressed by {error.suppressed_by.name})" if error.suppressed_by else ""
            self.log.plain("")
            self.log.plain(f"{error.count} errors{by} in context {number} of {total}:")
            self._again(error)
        return bool(listed)

    def _again(self, error: Error) -> None:
        """In a list or on request; with what would suppress it, if that is told of all."""
        is_told = self.options.gen_suppressions == "all" and error.suppressed_by is None
        self.sink.again(error, generate(error, self.resolver.frames(error.stack or ())) if is_told else None)

    def show_all(self, also_suppressed: bool) -> None:
        """The list as at the end of a run, on request."""
        self.log.plain(self.summary_line())
        if self.errors_found or (also_suppressed and self.suppressed):
            self.show_list(also_suppressed)
            self.log.plain(self.summary_line())

    def show_last(self) -> bool:
        """The error that was found last, suppressed ones not counted; whether there is one."""
        found = [error for error in self._recorded if error.suppressed_by is None]
        if not found:
            return False
        self._again(max(found, key=lambda error: error.last_seen))
        return True

    def show_used_suppressions(self) -> bool:
        """``used_suppression`` lines; whether there were any."""
        used = self.suppressions.used()
        if not used:
            return False
        self.log.debug("")
        for entry in used:
            leaks = f" suppressed: {entry.bytes:,} bytes in {entry.blocks:,} blocks" if entry.blocks else ""
            where = f"{entry.path}:{entry.line}"
            self.log.debug(f"used_suppression: {entry.count:6d} {entry.name} {where}{leaks}")
        return True

    def finish(self, hints: Sequence[str] = (), warnings: Sequence[str] = ()) -> None:
        """Everything from the tool's hints to the last ``ERROR SUMMARY`` (docs/spec/output.md section 6).

        ``warnings`` follow the hints, under ``-q``, too.
        """
        listing = self.options.lists_errors()
        if self.options.verbosity >= 1:
            for hint in hints:
                self.log.plain(hint)
        for warning in warnings:
            self.log.plain(warning)
        if self.options.verbosity == 1 and not listing:
            self.log.plain("For lists of detected and suppressed errors, rerun with: -s")
        if self.options.verbosity >= 1 or listing:
            self.log.plain(self.summary_line())
        if not listing or not (self.errors_found or self.suppressed or self.suppressions.used()):
            return
        listed = self.show_list()
        used = self.show_used_suppressions()
        if used:
            self.log.plain("")
        if listed or used:  # loss records are counted, not listed
            self.log.plain(self.summary_line())
