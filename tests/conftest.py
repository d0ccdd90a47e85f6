"""For all tests: the package under test is the installed one, not the checkout's folder of the same name."""

from __future__ import annotations

import os

import pytest
from hypothesis import settings

# A busy machine makes any example slow: a timing decides no test.
settings.register_profile("interpose", deadline=None)
settings.load_profile("interpose")


@pytest.fixture(autouse=True, scope="session")
def _outside_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> None:
    """``python -m interpose`` looks into the current folder first."""
    os.chdir(tmp_path_factory.mktemp("cwd"))
