"""How a supervisor process ends: at the program's end, or before it, with one message."""

from __future__ import annotations

import os

from interpose import paths
from interpose.errors import NO_DESCRIPTORS, InterposeError, out_of_descriptors, tell
from interpose.errors import out_of_memory as means_no_memory
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from interpose.session import Session


def supervise(session: Session, work: Callable[[], None]) -> NoReturn:
    """Do the work of a supervisor process, and leave.

    Whatever happens, the program hears of it: it goes on to its own end, or stops, and somebody says why
    exactly once.  Where memory is short, only C can be sure to say something.
    """
    out_of_memory, status = lib.ip_out_of_memory, 1
    try:
        try:
            work()
            status = 0
        except MemoryError:
            out_of_memory()
        except InterposeError as error:
            tell(error, session.log)
            if session.json is not None:
                session.json.broken_off(error.lines())
            lib.ip_told()
        except BaseException as error:
            if means_no_memory(error):
                out_of_memory()
            _internal(error)
        if session.xml is not None:
            session.xml.cut()
        session.log.close()
        chan = lib.ip_service_chan()
        if chan and not chan.dead:
            chan.dead = lib.IP_DEAD_GONE
        if status == 0 and session.at_end is not None:
            _work_alone(session, session.at_end)
        os._exit(status)
    except BaseException:
        out_of_memory()
    os._exit(1)


def _work_alone(session: Session, work: Callable[[], None]) -> None:
    """What nobody waits for, nor is told of: whoever reads the program's output has its end."""
    try:
        os.dup2(0, 2)
        for report in (session.json, session.xml):
            if report is not None:
                report.close()
        work()
    except Exception:
        return  # nothing is lost that the next run does not find out again


def _internal(error: BaseException) -> None:
    plain = InterposeError(NO_DESCRIPTORS) if out_of_descriptors(error) else paths.installation_changed(error)
    if plain is None:
        from interpose.supervisor.fatal import internal_fault

        plain = internal_fault(error)
    tell(plain)
    lib.ip_told()
