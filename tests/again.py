"""How a test that has failed is run again: with the same variables, and the same numbers at random."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
_GIVEN = {
    name: value for name, value in os.environ.items() if name == "PYTHONPATH" or name.startswith("INTERPOSE_")
}
"""What was set for this run of the tests."""


def command(item: pytest.Item) -> str:
    """The command; the seed is that of the test's module, if it has one."""
    seed = getattr(getattr(item, "module", None), "SEED", None)
    variables = _GIVEN if seed is None else {**_GIVEN, "INTERPOSE_SEED": str(seed)}
    words = [f"{name}={shlex.quote(value)}" for name, value in sorted(variables.items())]
    return " ".join([f"cd {shlex.quote(str(ROOT))} &&", *words, f"pytest {shlex.quote(item.nodeid)}"])
