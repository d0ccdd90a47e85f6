"""The memory manager against a model, the kernel's own view and what the hooks were told."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize("seed", range(1, 7))
def test_random_calls_agree_with_model_and_kernel(harness: Callable[[str], Path], seed: int) -> None:
    run = subprocess.run(
        [harness("memory/mm_fuzz"), str(seed), "250"], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stdout
    assert run.stdout.startswith("ok ")
