"""Programs built with gcc's sanitizers: the same reports as natively, addresses apart."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

GUESTS = Path(__file__).parent.parent / "guests" / "sanitizers"
TIMEOUT = 120


def build(source: Path, folder: Path) -> Path:
    kind = re.search(r"^// sanitize: (\w+)$", source.read_text(), re.M)
    assert kind, f"{source}: says no sanitizer"
    compiler = "g++" if source.suffix == ".cc" else "gcc"
    flags = ["-g", "-O1", "-fno-omit-frame-pointer", f"-fsanitize={kind[1]}", "-Wno-all"]
    subprocess.run([compiler, *flags, "-o", folder / source.stem, source, "-pthread"], check=True)
    return folder / source.stem


def report(command: list[str]) -> tuple[int, str, str]:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)
    # Addresses, process numbers, the shadow bytes that surround a block, and tsan's order of two threads.
    text = re.sub(r"0x[0-9a-f]+|(?<==)\d+(?==)|(?<=pid=)\d+|(?<=tid=)\d+", "#", done.stderr)
    text = re.sub(r"(?m)^(=>|  )#: ?.*$", "", text)
    return done.returncode, done.stdout, text


@pytest.mark.parametrize("source", sorted(GUESTS.iterdir()), ids=lambda path: path.name)
def test_as_native(source: Path, tmp_path: Path) -> None:
    guest = str(build(source, tmp_path))
    native = report([guest])
    ours = report([sys.executable, "-m", "interpose", "--tool=none", "-q", guest])
    assert ours[:2] == native[:2], ours[2]
    if source.stem == "race":  # which of the two threads is caught differs from run to run
        assert "SUMMARY: ThreadSanitizer: data race" in ours[2] and "race.c:9 in work" in ours[2], ours[2]
    else:
        assert ours[2] == native[2]
