"""The command: start, follow, report."""

from __future__ import annotations

import os
import signal
import sys

from interpose.errors import InterposeError, OptionError, internal_error, tell
from interpose.jit._native import lib
from interpose.lockstep.calls import CannotFollowError
from interpose.lockstep.options import HELP, options
from interpose.lockstep.pair import Ended, Pair, resolve_place
from interpose.lockstep.report import report

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

SAME, DIFFERENT, NOT_FOLLOWED = 0, 1, 2
_NOT_STARTED = (126, 127)
_FAULTS = (signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE, signal.SIGTRAP)


def say(*lines: str) -> None:
    """Lines on standard error."""
    text = "".join(f"lockstep: {line}\n" if line else "lockstep:\n" for line in lines)
    os.write(2, text.encode("utf-8", "surrogateescape"))


def summary(pair: Pair, how: str) -> None:
    """The last line of a run without difference."""
    state = pair.state
    extra = f", {state.signals} signals" if state.signals else ""
    say(f"{state.steps:,} steps in {state.blocks:,} blocks{extra}, no difference; {how}")


def status_text(code: int | None) -> str:
    """How the program ended."""
    if code is None:
        return "the program has ended"
    if code < 0:
        return f"the program died by signal {-code}"
    return f"the program ended with exit code {code}"


def crashed(status: int) -> bool:
    """Whether a process died of what it did itself; other signals come from somewhere else."""
    return os.WIFSIGNALED(status) and os.WTERMSIG(status) in _FAULTS


def judge(pair: Pair, event: int) -> int:
    """Report how the run ended; the exit code."""
    state = pair.state
    if event == lib.IP_LS_LIMIT:
        pair.finish(kill=True)
        summary(pair, "stopped as asked")
        return SAME
    if event == lib.IP_LS_DIFFER:
        say(*report(pair, "first difference"))
    elif event == lib.IP_LS_N_FAULT:
        name = signal.Signals(state.n_signal).name
        say(*report(pair, f"N got {name} at address {state.n_addr:#x} and T did not:"))
    elif event == lib.IP_LS_T_EXEC:
        summary(pair, "the program executes another one, which is not followed")
        pair.finish(kill=False)
        return SAME
    elif event == lib.IP_LS_BOTH_DIED or not crashed(state.t_status):
        summary(pair, status_text(pair.finish(kill=False)))
        return SAME
    else:
        code = os.waitstatus_to_exitcode(state.t_status)
        say(*report(pair, f"T died by signal {-code} and N did not:"))
    pair.finish(kill=True)
    return DIFFERENT


def follow(pair: Pair) -> int:
    """The whole run; the exit code."""
    wanted, started = pair.options, False
    try:
        pair.start()
        started = True
        if wanted.skip_until is not None:
            pair.run_to(resolve_place(pair, wanted.skip_until))
        pair.fork()
        return judge(pair, pair.run())
    except Ended:
        code = pair.finish(kill=False)
        if started:
            say("the program ended before it came to the place given by --skip-until")
            return NOT_FOLLOWED
        return code if code in _NOT_STARTED else NOT_FOLLOWED
    except CannotFollowError as reason:
        pair.finish(kill=True)
        say(f"after {pair.state.steps:,} steps without difference: {reason}; it cannot be followed")
        return NOT_FOLLOWED
    except BaseException:
        pair.finish(kill=True)
        raise


def main(words: Sequence[str]) -> int:
    """Run a command line."""
    if "--help" in words[:1] or "-h" in words[:1]:
        print(HELP, end="")
        return SAME
    wanted = options(words)
    if not wanted.engine.program:
        raise OptionError("no program specified")
    if wanted.pin:
        # A stop that wakes another CPU takes several times as long.
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's
    return follow(Pair(wanted))


def entry() -> None:
    """``python -m interpose.lockstep``."""
    try:
        code = main(sys.argv[1:])
    except InterposeError as error:
        tell(error)
        code = NOT_FOLLOWED
    except Exception as error:
        tell(internal_error(error))
        code = NOT_FOLLOWED
    sys.stdout.flush()
    os._exit(code)
