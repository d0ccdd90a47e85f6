"""What is ours in a process: the agent with its threads, files and code; and how all of it goes again."""

from __future__ import annotations

import contextlib
import os
import time

from interpose import paths
from interpose.native import threads, tracer
from interpose.native.agent import Agent
from interpose.procmaps import regions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_PAGE_SIZE = 4096
_DEPARTURE = 10.0  # seconds that Frida has to clean up
_PATIENCE = 2.0  # seconds that threads have to leave what goes
_MOMENT = 0.01


class Presence:
    """The agent in a process that it was injected into, or in a child that has a copy of its memory.

    :ivar files: the agent's descriptors, as :func:`descriptors` names them; forked children have them, too.
    :ivar threads: its threads, which calls pass unwrapped.
    """

    def __init__(self, pid: int, library: str) -> None:
        """Inject the agent, and have it load our ``library``. Raises LaunchError, OSError."""
        self.pid = pid
        self._library = library
        before, self._files, code = threads.threads_of(pid), descriptors(pid), _loose_code(pid)
        self.agent = Agent(pid)
        self.threads = threads.threads_of(pid) - before
        self._code = _loose_code(pid) - code
        self.offset = self.agent.load(library)
        self.threads |= self.agent.threads()
        threads.mark(pid, self.threads, self.offset)
        self.files: set[str] = set()

    def settled(self) -> None:
        """The agent has opened what it needs."""
        self.files = descriptors(self.pid) - self._files

    def leave(self, wrappers: Iterable[str], inherited: set[str] | None = None) -> bool:
        """Take everything out of the process; false if the libraries stay, because a thread is in one.

        ``inherited`` are the descriptors that a forked child has of another one's agent. Raises LaunchError,
        and OSError if it ends.
        """
        pages = self.agent.stop() if inherited is None else self.agent.stop_inherited()
        libraries = [paths.real(path) for path in (self._library, *wrappers)]
        is_deserted = self._is_deserted(libraries, pages)
        if inherited:
            left = descriptors(self.pid) & inherited
            self.agent.close_descriptors([int(name.split()[0]) for name in left])
        if is_deserted:
            self.agent.finish()
        self.agent.leave()
        self._await_departure()
        return is_deserted

    def _is_deserted(self, libraries: list[str], pages: list[int]) -> bool:
        """Wait until no thread is in the libraries or on the pages that go, nor returns there."""
        ranges = _mapped_as(self.pid, [os.fsencode(path) for path in libraries])
        ranges += [(page, page + _PAGE_SIZE) for page in pages]
        return _wait(lambda: not threads.anybody_in(self.pid, self.threads, ranges), _PATIENCE)

    def _await_departure(self) -> None:
        """The agent ends its threads and closes its files after it has answered.

        Then the injector makes a thread of the program unmap what it had mapped. To end before it is ready
        would leave that thread there.
        """
        pid = self.pid
        _wait(
            lambda: (
                not threads.threads_of(pid) & self.threads
                and not descriptors(pid) & self.files
                and not _loose_code(pid) & self._code
                and not tracer.tracer_of(pid)
            ),
            _DEPARTURE,
        )


def _wait(holds: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            return False
        time.sleep(_MOMENT)
    return True


def descriptors(pid: int) -> set[str]:
    """The open files of a process, with their numbers. Raises OSError."""
    found = set()
    for name in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(OSError):  # closed
            file = os.readlink(f"/proc/{pid}/fd/{name}")
            if file.endswith("[eventfd]"):  # which all have that name
                with open(f"/proc/{pid}/fdinfo/{name}") as info:
                    file += next((line for line in info if line.startswith("eventfd-id:")), "").rstrip()
            found.add(f"{name} {file}")
    return found


def _loose_code(pid: int) -> set[tuple[int, int]]:
    """The address ranges of a process that are writable code of no file."""
    return {(r.start, r.end) for r in regions(pid) if r.rights.startswith(b"rwx") and not r.name}


def _mapped_as(pid: int, names: Iterable[bytes]) -> list[tuple[int, int]]:
    """The address ranges of a process that some files are mapped at."""
    wanted = set(names)
    return [(region.start, region.end) for region in regions(pid) if region.name in wanted]
