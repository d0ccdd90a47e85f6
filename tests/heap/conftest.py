"""The heap is built with the shadow."""

from shadow.hosted import build, sh

__all__ = ["build", "sh"]
