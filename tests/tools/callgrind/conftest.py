"""The program whose costs and calls are known exactly."""

from __future__ import annotations

from pathlib import Path

import pytest

from .profiles import build


@pytest.fixture(scope="session")
def flow(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("flow"), "flow.S")
