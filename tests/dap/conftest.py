"""A client with an adapter of its own for each test."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from dap_client import Client


@pytest.fixture
def client(tmp_path: Path) -> Iterator[Client]:
    with Client(tmp_path) as client:
        yield client
