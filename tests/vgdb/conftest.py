"""The program that most of these tests ask about."""

from __future__ import annotations

from pathlib import Path

import pytest
from vgdb.running import compile_guest


@pytest.fixture(scope="session")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_guest(tmp_path_factory.mktemp("leaky"), "leaky")
