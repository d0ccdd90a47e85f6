"""The shadow, built hosted."""

from shadow.hosted import build, sh

__all__ = ["build", "sh"]
