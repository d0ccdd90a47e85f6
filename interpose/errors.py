"""The errors that end a run of ours: one root with an exit code, caught once in :mod:`interpose.cli`."""

from __future__ import annotations

import errno
import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.report.log import Log


class InterposeError(Exception):
    """Root of all errors of the package; shown as ``interpose: TEXT`` on stderr, without a traceback."""

    exit_code = 1
    in_log = False
    """A supervisor shows it where the log is: it is about the program, not about the run."""

    def __init__(self, message: str, *details: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        if exit_code is not None:
            self.exit_code = exit_code

    def lines(self) -> list[str]:
        """The lines to show, without prefix."""
        return [self.message, *self.details]

    def text(self) -> str:
        """The lines as they are shown; empty ones are just that."""
        return "".join(f"interpose: {line}\n" if line else "\n" for line in self.lines())


class OptionError(InterposeError):
    """A bad or unknown option (docs/spec/options.md section 1)."""

    HINT = "Use --help for more information or consult the user manual."

    def __init__(self, message: str, *details: str) -> None:
        super().__init__(message, *details, self.HINT)

    @classmethod
    def bad(cls, argument: str, *reasons: str) -> OptionError:
        """An option whose value cannot be used."""
        return cls(f"Bad option: {argument}", *reasons)

    @classmethod
    def unknown(cls, argument: str) -> OptionError:
        """A word that starts like an option and is none."""
        return cls(f"Unknown option: {argument}")


class ProgramError(InterposeError):
    """The program cannot be run: 127 not found, 126 not runnable (docs/spec/output.md section 9)."""

    NOT_FOUND = 127
    NOT_RUNNABLE = 126

    def __init__(self, program: str, reason: str, exit_code: int = NOT_RUNNABLE) -> None:
        super().__init__(f"{program}: {reason}", exit_code=exit_code)


class LogError(InterposeError):
    """A log destination that cannot be used (docs/spec/output.md section 10)."""


class ListenerError(LogError):
    """Nobody listens where a report is to go."""


class LaunchError(InterposeError):
    """The two processes cannot be set up: descriptors, memory or the built products are missing."""


class MissingTextError(InterposeError):
    """--require-text-symbol was not met."""

    in_log = True


class InternalError(InterposeError):
    """A fault of ours: one line that says what and where, then details for whoever looks into it."""

    def text(self) -> str:
        """Details are indented, not prefixed."""
        details = [f"  {line}".rstrip() + "\n" for line in self.details]
        return "".join([f"interpose: {self.message}\n", *details])


class Told(InterposeError):
    """The run ends for a reason that was told before; its lines, if any, are for who runs it from Python."""

    def __init__(self, message: str = "", *details: str, exit_code: int | None = None) -> None:
        super().__init__(message, *details, exit_code=exit_code)


_stderr = 2


def tell_at(fd: int) -> None:
    """Another descriptor is standard error from now on."""
    global _stderr
    _stderr = fd


def write_some(fd: int, data: memoryview | bytes) -> int:
    """How much of it was taken, at least one byte.

    Some files take nothing and give no error (``/proc/PID/mem`` of who has ended): who tries again would
    do so for ever. That counts as no room.
    """
    taken = os.write(fd, data)
    if not taken and len(data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return taken


def write_all(fd: int, data: memoryview | bytes) -> None:
    """All of it, however much the other side takes at once."""
    left = memoryview(data)
    while left:
        left = left[write_some(fd, left) :]


def tell(error: InterposeError, log: Log | None = None) -> None:
    """Show an error on standard error, if there is one, or where it belongs in this log, there."""
    if isinstance(error, Told):
        return
    if log is not None and error.in_log:
        log.unmarked(error.text())
        return
    try:
        write_all(_stderr, error.text().encode("utf-8", "surrogateescape"))
    except OSError:
        return  # there is nobody to tell


OUT_OF_MEMORY = b"interpose: out of memory; check 'ulimit -v' and free memory\n"


_NO_MEMORY_TEXTS = (
    "failed to map segment",
    "cannot map zero-fill pages",
    "annot allocate memory",
    "out of memory",
)


def out_of_memory(error: BaseException) -> bool:
    """Whether an error means that; it can be said by one write of a constant then."""
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    # The dynamic linker says it in words (dlopen(3)).
    return isinstance(error, (ImportError, OSError)) and any(text in str(error) for text in _NO_MEMORY_TEXTS)


NO_DESCRIPTORS = "no file descriptor is free any more, so the program cannot go on; raise 'ulimit -n'"


def out_of_descriptors(error: BaseException) -> bool:
    """Whether an error means that none is free; then no module can be imported to tell of it, either."""
    return getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE)


def place_of(error: BaseException) -> str:
    """`` at FILE:LINE``, where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return f" at {trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else ""


def internal_error(error: BaseException) -> InternalError:
    """An error that is a fault of ours, in one line; the traceback follows when INTERPOSE_DEBUG is set."""
    details: list[str] = []
    if os.environ.get("INTERPOSE_DEBUG"):
        import traceback

        details = "".join(traceback.format_exception(error)).splitlines()
    return InternalError(f"internal error: {type(error).__name__}: {error}{place_of(error)}", *details)
