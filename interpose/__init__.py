"""Run an unmodified x86-64 Linux program on a synthetic CPU, with redirected functions and tools."""

__version__ = "0.1.0"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.api.result import Run, RunError, RunTimeout
    from interpose.api.run import run, run_async

_ELSEWHERE = {
    "Run": "interpose.api.result",
    "RunError": "interpose.api.result",
    "RunTimeout": "interpose.api.result",
    "run": "interpose.api.run",
    "run_async": "interpose.api.run",
}

__all__ = ["Run", "RunError", "RunTimeout", "run", "run_async"]


def __getattr__(name: str) -> object:
    """The command, which imports this each time, pays for nothing of the interface for Python."""
    if name not in _ELSEWHERE:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    found = globals()[name] = getattr(import_module(_ELSEWHERE[name]), name)
    return found
