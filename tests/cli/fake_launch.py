"""Launch with a stand-in for the runtime and for the supervisor: ``fake_launch.py RUNTIME REPORT WORDS…``.

The supervisor writes what it sees to REPORT and returns when the client is gone, or at once for --stats=yes.
"""

from __future__ import annotations

import json
import os
import sys
import types

runtime, report, *words = sys.argv[1:]

from interpose import paths  # noqa: E402

paths.runtime = lambda tool: runtime
paths.product = lambda name: f"/lib/{name}"


def run(session) -> None:
    header = session.memory.header
    seen = {
        "pid": os.getpid(),
        "sid": os.getsid(0),
        "client": session.client_pid,
        "parent": session.parent_pid,
        "argv": list(session.program.argv),
        "path": session.program.path,
        "magic": header.magic,
        "supervisor_pid": header.supervisor_pid,
        "client_pid": header.client_pid,
        "num_callers": header.num_callers,
        "malloc_fill": header.malloc_fill,
        "flags": header.config_flags,
        "main_stack": header.main_stack,
        "prog": bytes(header.prog).split(b"\0")[0].decode(),
        "stubs": bytes(header.stubs).split(b"\0")[0].decode(),
        "fds": sorted(int(n) for n in os.listdir("/proc/self/fd") if os.path.lexists(f"/proc/self/fd/{n}")),
        "channels": sum(
            "interpose-channel" in os.readlink(f"/proc/self/fd/{n}")
            for n in os.listdir("/proc/self/fd")
            if os.path.lexists(f"/proc/self/fd/{n}")
        ),
        "own": [*session.memory.descriptors(), session.sock_fd, session.log.fd],
        "stdin": os.readlink("/proc/self/fd/0"),
    }
    with open(report + ".new", "w") as file:
        json.dump(seen, file)
    os.rename(report + ".new", report)
    session.log.plain("supervisor ran")
    if session.config.core.trace_sched:
        raise ValueError("a fault of ours")
    while not session.config.core.stats and os.read(session.sock_fd, 1):
        pass


module = types.ModuleType("interpose.supervisor.main")
module.run = run
import interpose.supervisor  # noqa: E402

interpose.supervisor.main = module
sys.modules["interpose.supervisor.main"] = module

from interpose import cli  # noqa: E402

sys.argv[1:] = words
cli.entry()
