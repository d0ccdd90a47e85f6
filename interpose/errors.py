"""The errors that end a run of ours: one root with an exit code, caught once in :mod:`interpose.cli`."""

from __future__ import annotations

import errno
import os


class InterposeError(Exception):
    """Root of all errors of the package; shown as ``interpose: TEXT`` on stderr, without a traceback."""

    exit_code = 1

    def __init__(self, message: str, *details: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.details = details
        if exit_code is not None:
            self.exit_code = exit_code

    def lines(self) -> list[str]:
        """The lines to show, without prefix."""
        return [self.message, *self.details]


class OptionError(InterposeError):
    """A bad or unknown option (options.md section 1, row "Errors")."""

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
    """The program cannot be run: 127 not found, 126 not runnable, as of a shell (output.md section 11)."""

    NOT_FOUND = 127
    NOT_RUNNABLE = 126

    def __init__(self, program: str, reason: str, exit_code: int = NOT_RUNNABLE) -> None:
        super().__init__(f"{program}: {reason}", exit_code=exit_code)


class LogError(InterposeError):
    """A log destination that cannot be used (output.md section 12)."""


class LaunchError(InterposeError):
    """The two processes cannot be set up: descriptors, memory or the built products are missing."""


def tell(error: InterposeError) -> None:
    """Show an error on standard error, if there is one."""
    text = "".join(f"interpose: {line}\n" for line in error.lines())
    try:
        os.write(2, text.encode("utf-8", "surrogateescape"))
    except OSError:
        return  # there is nobody to tell


def internal_error(error: BaseException) -> InterposeError:
    """An error that is a fault of ours, in one line; the traceback follows when INTERPOSE_DEBUG is set."""
    import traceback

    frames = traceback.extract_tb(error.__traceback__)
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    details: list[str] = []
    if os.environ.get("INTERPOSE_DEBUG"):
        details = "".join(traceback.format_exception(error)).splitlines()
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return InterposeError(f"out of memory{place}; check 'ulimit -v' and free memory", *details)
    return InterposeError(f"internal error: {type(error).__name__}: {error}{place}", *details)
