"""The null tool: banner, run, nothing else."""

from __future__ import annotations

from interpose.tools.base import BaseTool


class Tool(BaseTool):
    """Adds nothing to the base."""
