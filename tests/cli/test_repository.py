"""What the README promises about the repository itself."""

from __future__ import annotations

import re
from pathlib import Path

import interpose

ROOT = Path(__file__).parents[2]


def test_checks_run_the_readmes_command():
    command = re.search(r"^python3 -m venv .*pytest.*$", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert command is not None
    assert command[0] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_versions_agree():
    version = re.search(r'^version = "(.*)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE)
    assert version is not None and version[1] == interpose.__version__
    assert f"version: '{interpose.__version__}'" in (ROOT / "meson.build").read_text()
    assert (
        re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)[1] == interpose.__version__
    )


def test_links_of_the_readme_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", (ROOT / "README.md").read_text()):
        assert (ROOT / link).exists(), link
