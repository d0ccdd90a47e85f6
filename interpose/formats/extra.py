"""Packages that only some of the work needs: they come with an extra of ours, and are imported when they are
used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from interpose.errors import InterposeError


def need(module: str) -> Any:
    """The module; without it, one line that says how to get it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise InterposeError(f"{package} is missing: pip install 'interpose[analysis]'") from error
