"""The engine's modes: options under which every program behaves as natively."""

from __future__ import annotations

import os

SEED = os.environ.get("INTERPOSE_SEED", "1")

MODES: dict[str, list[str]] = {
    "default": [],
    "tiny-cache": ["--tiny-cache=yes"],
    "evict": ["--evict=20"],
    "no-chaining": ["--chaining=no"],
    "single-step": ["--single-step=yes"],
    "no-optimise": ["--optimise=no"],
    "far-images": ["--far-images=yes"],
    "trace-children": ["--trace-children=yes"],
    "memcheck": ["--tool=memcheck"],
    "tracking": ["--tool=memcheck", "--force-tracking=yes"],
    "callgrind": ["--tool=callgrind", "--callgrind-out-file=/dev/null"],
    "random-registers": ["--tool=memcheck", f"--random-registers={SEED}"],
}
RARE_MODES: dict[str, list[str]] = {
    "evict-often": ["--evict=3"],
    "evict-always": ["--evict=1"],
    "evict-always-memcheck": ["--tool=memcheck", "--evict=1"],
    "no-fsgsbase": ["--fsgsbase=no"],
    "no-fsgsbase-memcheck": ["--tool=memcheck", "--fsgsbase=no"],
}
"""For guests that name them."""
