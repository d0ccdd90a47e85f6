"""The package that finds source lines."""

from __future__ import annotations

import sys

import pytest

from interpose.elf import symcache
from interpose.errors import InterposeError


def test_a_package_that_is_missing_is_told_in_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "symbolic", raising=False)
    monkeypatch.setattr(symcache, "_spec", lambda: None)
    with pytest.raises(InterposeError, match=r"'symbolic', which is not installed \(pip install symbolic\)$"):
        symcache._library()
