"""Random packets: the server stands, and the program goes on as if nothing had been."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
from gdb import sessions
from gdb.sessions import TIMEOUT
from gdb.test_ends import HOSTILE, Talk, client

from interpose.gdb.packets import frame
from interpose.gdb.server import PACKETS

_CHANGES = (b"k", b"vKill", b"D", b"C", b"S", b"c", b"s", b"vCont;", b"M", b"X", b"G", b"P", b"qRcmd,")
"""With noise behind them these might end the program, stop it for good, or have it run anywhere."""
_GOES_ON = (b"c", b"s", b"vCont;c", b"vCont;s", b"vCont;r10000000,20000000", b"qRcmd,76")
_PREFIXES = [packet.prefix for packet in PACKETS if packet.prefix not in _CHANGES]
_WORDS = b"0123456789abcdef,;:-.p=#$}*z\x00\xff"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sessions.build(sessions.read(sessions.GUESTS / "fork_family.gdb"), tmp_path_factory.mktemp("fuzz"))


def content(chance: random.Random) -> bytes:
    """Noise, a packet with noise behind it, or one of the hostile ones with a byte more."""
    kind = chance.randrange(4)
    if kind == 0:
        return chance.randbytes(chance.randrange(40))
    if kind == 1:
        hostile = chance.choice(HOSTILE)
        at = chance.randrange(len(hostile) + 1)
        return hostile[:at] + chance.randbytes(1) + hostile[at:]
    words = bytes(chance.choice(_WORDS) for _ in range(chance.randrange(30)))
    tail = chance.randbytes(chance.choice((5, 5000, 40_000))) if kind == 2 else b""
    return chance.choice(_PREFIXES) + words + tail


def damaged(data: bytes, chance: random.Random) -> bytes:
    match chance.randrange(5):
        case 0:
            return data[: chance.randrange(len(data) + 1)]
        case 1:
            return data[:-2] + b"zz"
        case _:
            return data


@pytest.mark.parametrize("seed", range(4))
def test_random_packets(program: Path, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        talk.ask(b"qSupported:multiprocess+;fork-events+;vfork-events+")
        talk.ask(b"?")
        for _ in range(250):
            packet = content(chance)
            if packet.startswith(_CHANGES):
                packet = chance.choice(_GOES_ON)
            try:
                talk.send(damaged(frame(packet), chance))
            except OSError:  # it has run to its end
                break
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 10
    told = (tmp_path / "out").read_text(errors="replace")
    assert "internal error" not in told and "Traceback" not in told, told
    end = time.monotonic() + TIMEOUT
    while (left := list(tmp_path.glob("pipe*"))) and time.monotonic() < end:
        time.sleep(0.02)
    assert left == []


def test_sixty_thousand_breakpoints(program: Path, tmp_path: Path) -> None:
    with client(program, tmp_path, "--vgdb-stop-at=startup") as process:
        talk = Talk(tmp_path / "pipe", process.pid)
        talk.ask(b"?")
        assert talk.ask(b"QStartNoAckMode") == b"OK"
        for kind in (b"Z", b"z"):
            for first in range(0, 60_000, 1000):
                talk.send(b"".join(frame(b"%b0,%x,1" % (kind, 0x400000 + first + at)) for at in range(1000)))
                assert {talk.receive() for _ in range(1000)} == {b"OK"}
        talk.send(frame(b"QPassSignals:14"))  # SIGCHLD
        assert talk.receive() == b"OK"
        talk.send(frame(b"vCont;c"))
        assert talk.receive() == b"W0a"
        talk.close()
        assert process.wait(timeout=TIMEOUT) == 10
