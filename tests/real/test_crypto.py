"""OpenSSL: every algorithm's result as native, and its own measure of all of them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from real.running import LONG, TOOLS, WORKLOADS, compare, need, run, under

PYTHON = "/usr/bin/python3"
FEW = ["sha512", "aes-128-cbc", "ghash", "ed25519"]


@pytest.mark.parametrize("tool", TOOLS)
def test_every_algorithm(tmp_path: Path, tool: str) -> None:
    """Digests, ciphers and authentication codes of libcrypto, there and back."""
    if run([PYTHON, "-c", "import ctypes; ctypes.CDLL('libcrypto.so.3').EVP_Q_mac"], tmp_path)[0]:
        pytest.skip("the system's Python finds no libcrypto of OpenSSL 3")
    assert not compare([PYTHON, str(WORKLOADS / "crypto.py")], tmp_path, tool)


@pytest.mark.parametrize("tool", TOOLS)
def test_signatures(tmp_path: Path, tool: str) -> None:
    need("openssl")
    keys = {"rsa": ["RSA", "-pkeyopt", "rsa_keygen_bits:1024"], "ed": ["ED25519"], "ec": ["EC"]}
    keys["ec"] += ["-pkeyopt", "ec_paramgen_curve:P-384"]
    (tmp_path / "text").write_bytes(b"to be signed\n" * 50)
    for name, words in keys.items():
        assert run(["openssl", "genpkey", "-algorithm", *words, "-out", name], tmp_path)[0] == 0
    for name, words in {
        "rsa": ["dgst", "-sha256", "-sign", "rsa", "text"],
        "ed": ["pkeyutl", "-sign", "-rawin", "-inkey", "ed", "-in", "text"],
    }.items():
        assert not compare(["openssl", *words], tmp_path, tool), name
    signed = run([*under(tool, tmp_path / "log"), "openssl", "dgst", "-sign", "ec", "text"], tmp_path)[1]
    (tmp_path / "signature").write_bytes(signed)
    verify = ["openssl", "dgst", "-prverify", "ec", "-signature", "signature", "text"]
    assert compare(verify, tmp_path, tool) == {}
    assert run(verify, tmp_path)[1] == b"Verified OK\n"


@pytest.mark.parametrize("tool", TOOLS)
def test_speed(tmp_path: Path, tool: str) -> None:
    """Ends well, and has a figure for each algorithm: all of them in the long run."""
    need("openssl")
    command = [
        "openssl",
        "speed",
        "-seconds",
        "1",
        "-bytes",
        "1024",
        *([] if LONG else FEW[: 4 if tool == "none" else 2]),
    ]
    log = tmp_path / "log"
    status, output, errors = run([*under(tool, log), *command], tmp_path)
    assert status == 0, errors.decode(errors="replace")
    figures = re.findall(rb"(?m)^ *\S.*? +(\d+\.\d+)[ks]\b", output)
    assert len(figures) >= (60 if LONG else 2), output.decode()
    assert not log.exists() or not log.read_text()
