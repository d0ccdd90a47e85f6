"""A tool's object that comes into being while the program starts already."""

from __future__ import annotations

from interpose import tools

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.main import Supervisor
    from interpose.tools.base import BaseTool


class LateTool:
    """The object of the tool's ``tool.py``, made at once or when it is wanted first (:mod:`interpose.tools`).

    What it needs takes a third of a short run to load, and most runs have no error to report by then.
    """

    def __init__(self, supervisor: Supervisor) -> None:
        self._supervisor = supervisor
        self._made: BaseTool | None = None
        self._rest = self._modules()
        if not self._rest:
            self.get()

    def _modules(self) -> list[str]:
        """What can be loaded later, the last first.

        Nothing where the object says something when it is made, or reads what the program could change.
        """
        supervisor = self._supervisor
        core = supervisor.config.core
        if (
            core.suppressions
            or core.verbosity > 1
            or supervisor.json is not None
            or supervisor.xml is not None
        ):
            return []
        return list(reversed(getattr(tools.load(supervisor.config.tool_name), "LATE", ())))

    @property
    def is_due(self) -> bool:
        """There is still something to load."""
        return bool(self._rest)

    def get(self) -> BaseTool:
        """The object."""
        if self._made is None:
            self._rest = []
            self._made = tools.load(self._supervisor.config.tool_name, "tool").Tool(self._supervisor)
        return self._made

    def first_events(self) -> BaseTool:
        """Who hears of the first events, which a tool that is late leaves to its base."""
        if self._made is not None:
            return self._made
        from interpose.tools.base import BaseTool

        return BaseTool(self._supervisor)

    def prepare(self) -> None:
        """One step, of a millisecond or two: nobody asks for anything."""
        __import__(f"interpose.{self._rest.pop()}")
        if not self._rest:
            self.get()
