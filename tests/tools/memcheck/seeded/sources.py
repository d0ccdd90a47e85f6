"""Sources of Debian packages, by apt-get with lists of its own: the machine's settings stay as they are."""

from __future__ import annotations

import re
import shutil
import subprocess
import tarfile
from pathlib import Path

TIMEOUT = 300
_SETTINGS = Path("/etc/apt")


class SourcesUnavailable(Exception):
    """There is no apt-get, no network, or no such source package."""


class Sources:
    """Source packages of the release that this machine has."""

    def __init__(self, folder: Path) -> None:
        """:param folder: an empty one, for lists and packages."""
        if shutil.which("apt-get") is None:
            raise SourcesUnavailable("apt-get is not installed")
        self.folder = folder
        parts = folder / "parts"
        for made in (parts, folder / "lists" / "partial", folder / "archives" / "partial"):
            made.mkdir(parents=True)
        for path in (_SETTINGS / "sources.list", *sorted((_SETTINGS / "sources.list.d").glob("*"))):
            if path.suffix == ".sources":
                text = re.sub(r"^Types:.*", "Types: deb-src", path.read_text(), flags=re.M)
                (parts / path.name).write_text(text)
            elif path.suffix == ".list" and path.exists():
                text = re.sub(r"^deb\s", "deb-src ", path.read_text(), flags=re.M)
                (parts / f"copy-{path.name}").write_text(text)
        self._apt("update")

    def _apt(self, *words: str) -> None:
        settings = {
            "Dir::Etc::sourcelist": "/dev/null",
            "Dir::Etc::sourceparts": f"{self.folder}/parts",
            "Dir::State::lists": f"{self.folder}/lists",
            "Dir::Cache": f"{self.folder}",
            "APT::Sandbox::User": "root",  # who may not look into the folder
            "Acquire::Retries": "2",
            "Acquire::http::Timeout": "20",
        }
        options = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
        try:
            done = subprocess.run(["apt-get", *options, *words], cwd=self.folder, capture_output=True,
                                  text=True, timeout=TIMEOUT)  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise SourcesUnavailable("apt-get does not end") from error
        if done.returncode:
            raise SourcesUnavailable(done.stderr.strip()[-500:])

    def unpacked(self, package: str) -> Path:
        """The folder of a package's original source."""
        target = self.folder / f"{package}-source"
        if not target.exists():
            self._apt("source", "--download-only", package)
            found = [path for path in self.folder.glob("*.orig.tar.*") if path.name.startswith(f"{package}_")]
            if len(found) != 1:
                raise SourcesUnavailable(f"no source of {package}")
            with tarfile.open(found[0]) as archive:
                archive.extractall(target, filter="data")
        (inner,) = target.iterdir()
        return inner
