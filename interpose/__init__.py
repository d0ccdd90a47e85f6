"""Run an unmodified x86-64 Linux program on a synthetic CPU, with redirected functions and tools."""

__version__ = "0.1.0"

# The version of Valgrind whose interfaces these are (docs/spec/README.md).
INTERFACES = "3.27.1"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.api.result import Run as Run
    from interpose.api.result import RunError as RunError
    from interpose.api.result import RunTimeout as RunTimeout
    from interpose.api.run import run as run
    from interpose.api.run import run_async as run_async
    from interpose.hooks import *  # noqa: F403

_RUNS = {
    "Run": "interpose.api.result",
    "RunError": "interpose.api.result",
    "RunTimeout": "interpose.api.result",
    "run": "interpose.api.run",
    "run_async": "interpose.api.run",
}


def __getattr__(name: str) -> object:
    """The command, which imports this each time, pays for nothing of the interface for Python.

    Modules, which Python looks for here first, are in small letters: they must not cost the hooks.
    """
    if not (name in _RUNS or name[:1].isupper() or name in ("wrap", "replace", "__all__")):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    if name in _RUNS:
        found = getattr(import_module(_RUNS[name]), name)
    else:
        hooks = import_module("interpose.hooks")
        if name not in (*hooks.__all__, "__all__"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        found = sorted([*_RUNS, *hooks.__all__]) if name == "__all__" else getattr(hooks, name)
    globals()[name] = found
    return found
