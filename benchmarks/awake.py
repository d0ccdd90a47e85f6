"""Keeps the CPUs of this machine awake while something is measured."""

from __future__ import annotations

import hashlib
import os
import threading
from types import TracebackType

TURN = 200_000
"""Rounds of hashing between two looks at whether to go on: a tenth of a second."""


class Awake:
    """One thread for each CPU that computes whenever nobody else does (``SCHED_IDLE``).

    The host of a virtual machine takes tens to hundreds of microseconds to wake a CPU that sleeps.
    Threads, not processes: a measurement waits for all children, and with processes of another session
    the kernel would share the CPU evenly between the sessions (``sched_autogroup_enabled``).
    """

    def __init__(self) -> None:
        self._over = threading.Event()
        self._threads = [
            threading.Thread(target=self._compute, args=(cpu,), daemon=True)
            for cpu in sorted(os.sched_getaffinity(0))
        ]

    def _compute(self, cpu: int) -> None:
        own = threading.get_native_id()
        os.sched_setscheduler(own, os.SCHED_IDLE, os.sched_param(0))
        os.sched_setaffinity(own, {cpu})
        while not self._over.is_set():
            hashlib.pbkdf2_hmac("sha256", b"", b"", TURN)  # lets other Python threads run meanwhile

    def __enter__(self) -> Awake:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        for thread in self._threads:
            assert thread.native_id is not None
            # On a busy machine one of the lowest class would end who knows when.
            os.sched_setscheduler(thread.native_id, os.SCHED_OTHER, os.sched_param(0))
        for thread in self._threads:
            thread.join()
