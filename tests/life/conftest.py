"""The guest of these tests."""

from __future__ import annotations

import pytest
from life.running import compile_guest


@pytest.fixture(scope="session")
def ends(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Path of the program that ends in the way it is told."""
    return str(compile_guest("life/ends.c", tmp_path_factory.mktemp("life")))
