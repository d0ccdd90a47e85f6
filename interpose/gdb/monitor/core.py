"""The monitor commands that every tool has."""

from __future__ import annotations

import re
import time

from . import debug
from .table import Command, Commands, line
from .words import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .table import Call


# -- help ----------------------------------------------------------------------------------------------------


def _help(call: Call) -> None:
    everything = False
    if call.words:
        try:
            everything = call.words.choice(("debug",)) == "debug"
        except Refused as reason:
            call.tell(str(reason))
    lines = ["general valgrind monitor commands:"]
    lines += COMMANDS.help()
    if everything:
        lines += ["debugging valgrind internals monitor commands:", *COMMANDS.help(debug=True)]
    supervisor = call.supervisor
    if own := supervisor.tool.monitor_commands().help():
        lines += ["", f"{supervisor.config.tool_name} monitor commands:", *own, ""]
    call.say("\n".join(lines))


# -- waiting and ending --------------------------------------------------------------------------------------


def _wait(call: Call) -> None:
    text = call.words.next()
    digits = re.match(r"\d{0,9}", text, re.ASCII)
    milliseconds = int(digits[0] or 0) if digits else 0
    if text:
        call.say(f"gdbserver: continuing in {milliseconds} ms ...")
        time.sleep(milliseconds / 1000)
    call.say("gdbserver: continuing after wait ...")


def _kill(call: Call) -> None:
    call.log.plain("monitor command request to kill this process")
    call.supervisor.end_client()


# -- errors --------------------------------------------------------------------------------------------------


def _all_errors(call: Call) -> None:
    also = bool(call.words) and call.words.choice(("also_suppressed",)) != ""
    errors = call.supervisor.error_manager()
    if errors is None:
        call.log.plain("ERROR SUMMARY: 0 errors from 0 contexts (suppressed: 0 from 0)")
        return
    errors.show_all(also)


def _last_error(call: Call) -> None:
    errors = call.supervisor.error_manager()
    if errors is None or not errors.show_last():
        call.log.plain("No errors yet")


def _n_errs_found(call: Call) -> None:
    errors = call.supervisor.error_manager()
    found, shown = (errors.errors_found, errors.shown) if errors is not None else (0, 0)
    limit = call.supervisor.config.core.vgdb_error
    call.say(f"n_errs_found {found} n_errs_shown {shown} (vgdb-error {limit}) {call.words.rest()}")


def _location(call: Call) -> None:
    addr, _ = call.words.range()
    call.describe(call.supervisor.tool.describe_address(addr))


def _open_fds(call: Call) -> None:
    descriptors = call.supervisor.descriptors
    if descriptors is None or call.supervisor.config.core.track_fds not in ("yes", "all"):
        call.say("Valgrind must be started with --track-fds=[yes|all] to show open fds")
        return
    for text in descriptors.lines():
        call.log.plain(text)


# -- options -------------------------------------------------------------------------------------------------


def _clo(call: Call) -> None:
    from interpose.options.helptext import dynamic_list
    from interpose.supervisor.reconfigure import change_option

    if not call.words:
        call.say("\n".join(dynamic_list(call.supervisor.config.tool_name)))
        return
    while call.words:
        change_option(call.supervisor, call.words.next())


def _changed(call: Call, name: str, old: int, new: int) -> None:
    call.say(f"{name} value changed from {old} to {new}")


def _change(call: Call, name: str, spelling: str) -> None:
    from interpose.options.parse import change

    new = call.words.integer()
    supervisor = call.supervisor
    field = spelling.replace("-", "_")
    old = getattr(supervisor.config.core, field)
    supervisor.reconfigure(change(supervisor.config, f"--{spelling}={new}"))
    _changed(call, name, old, new)


def _vgdb_error(call: Call) -> None:
    _change(call, "vgdb-error", "vgdb-error")


def _merge_recursive_frames(call: Call) -> None:
    _change(call, "merge-recursive-frames", "merge-recursive-frames")


def _gdb_output(call: Call) -> None:
    call.supervisor.monitor_output = "gdb"
    call.tell("valgrind output will go to gdb")


def _log_output(call: Call) -> None:
    call.supervisor.monitor_output = "log"
    call.tell("valgrind output will go to log")


def _mixed_output(call: Call) -> None:
    call.supervisor.monitor_output = "mixed"
    call.tell("valgrind output will go to log, interactive output will go to gdb")


_COMMANDS: tuple[Command, ...] = (
    Command("help", _help, (line("help [debug]", "monitor command help. With debug: + debugging commands"),)),
    Command("v.wait", _wait, (line("v.wait [<ms>]", "sleep <ms> (default 0) then continue"),)),
    Command(
        "v.info all_errors",
        _all_errors,
        (line("v.info all_errors [also_suppressed]", "show all errors found so far"),),
        2,
    ),
    Command("v.info last_error", _last_error, (line("v.info last_error", "show last error found"),), 4),
    Command(
        "v.info location",
        _location,
        (line("v.info location <addr>", "show information about location <addr>"),),
        11,
    ),
    Command(
        "v.info n_errs_found",
        _n_errs_found,
        (line("v.info n_errs_found [msg]", "show the nr of errors found so far and the given msg"),),
        3,
    ),
    Command(
        "v.info open_fds",
        _open_fds,
        (line("v.info open_fds", "show open file descriptors (only if --track-fds=[yes|all])"),),
        9,
    ),
    Command("v.kill", _kill, (line("v.kill", "kill the Valgrind process"),)),
    Command(
        "v.clo",
        _clo,
        (
            line("v.clo <clo_option>...", "changes one or more dynamic command line options"),
            "     with no clo_option, show the dynamically changeable options.",
        ),
    ),
    Command("v.set gdb_output", _gdb_output, (line("v.set gdb_output", "set valgrind output to gdb"),), 4),
    Command("v.set log_output", _log_output, (line("v.set log_output", "set valgrind output to log"),), 5),
    Command(
        "v.set mixed_output",
        _mixed_output,
        (line("v.set mixed_output", "set valgrind output to log, interactive output to gdb"),),
        6,
    ),
    Command(
        "v.set merge-recursive-frames",
        _merge_recursive_frames,
        (line("v.set merge-recursive-frames <num>", "merge recursive calls in max <num> frames"),),
        3,
    ),
    Command(
        "v.set vgdb-error",
        _vgdb_error,
        (line("v.set vgdb-error <errornr>", "debug me at error >= <errornr> "),),
        1,
    ),
)

COMMANDS = Commands(
    (*_COMMANDS, *debug.COMMANDS),
    ("help", "v.set", "v.info", "v.wait", "v.kill", "v.translate", "v.do", "v.clo"),
)
