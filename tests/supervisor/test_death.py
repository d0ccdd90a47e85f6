"""Whom the death of a program by a signal is told, and what that takes."""

from __future__ import annotations

import signal
from types import SimpleNamespace

import pytest

from interpose.jit._native import ffi
from interpose.supervisor.fatal import report_signal

SI_USER, SEGV_MAPERR = 0, 1


class _Unwound(Exception):
    pass


def _die(number: int, code: int, *, verbosity: int = 0, json: object = None, sink: object = None) -> None:
    def unwind(slot: object) -> None:
        raise _Unwound

    report_signal(
        SimpleNamespace(  # type: ignore[arg-type]
            json=json,
            xml_sink=sink,
            config=SimpleNamespace(core=SimpleNamespace(verbosity=verbosity)),
            client=SimpleNamespace(header=SimpleNamespace(config_flags=0)),
            debugger_or_none=None,
            unwind=unwind,
        ),
        SimpleNamespace(a=[number, code, 0], len=0, data=ffi.new("char[8]")),
    )


def test_nothing_is_unwound_that_nobody_is_told() -> None:
    _die(signal.SIGTERM, SI_USER)
    _die(signal.SIGKILL, SI_USER, verbosity=1)


@pytest.mark.parametrize(
    ("number", "code", "where"),
    [
        (signal.SIGTERM, SI_USER, {"verbosity": 1}),
        (signal.SIGTERM, SI_USER, {"json": object()}),
        (signal.SIGTERM, SI_USER, {"sink": object()}),
        (signal.SIGSEGV, SEGV_MAPERR, {}),
    ],
)
def test_what_is_told_has_a_stack(number: int, code: int, where: dict[str, object]) -> None:
    with pytest.raises(_Unwound):
        _die(number, code, **where)  # type: ignore[arg-type]
