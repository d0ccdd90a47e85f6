"""For all tests: the package under test is the installed one, not the checkout's folder of the same name."""

from __future__ import annotations

import os
from collections.abc import Iterator

import again
import ground
import pytest
from hypothesis import settings

# Before any module is imported: some take what they inherit at once.
MISSING = ground.straighten()

# A busy machine makes any example slow: a timing decides no test.
settings.register_profile("interpose", deadline=None)
settings.load_profile("interpose")


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """A test that fails says how it is run again."""
    outcome = yield
    report = outcome.get_result()
    if report.failed:
        report.sections.append(("again", again.command(item)))


def pytest_configure() -> None:
    if MISSING:
        raise pytest.UsageError(f"the tests need other limits: {'; '.join(MISSING)}")


@pytest.fixture(autouse=True, scope="session")
def _outside_the_checkout(tmp_path_factory: pytest.TempPathFactory) -> None:
    """``python -m interpose`` looks into the current folder first."""
    os.chdir(tmp_path_factory.mktemp("cwd"))


@pytest.fixture(autouse=True, scope="session")
def _own_cache(tmp_path_factory: pytest.TempPathFactory) -> None:
    """What runs keep (docs/cache.md) is kept for the tests alone."""
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))


# pyarrow's allocator would take addresses that tests of the shadow map as a program's, in the same process.
os.environ["ARROW_DEFAULT_MEMORY_POOL"] = "system"


@pytest.fixture(autouse=True, scope="session")
def _verified_translations() -> None:
    """Every block that any test translates is verified after each stage (interpose/jit/verify.c)."""
    os.environ.setdefault("INTERPOSE_VERIFY", "1")
