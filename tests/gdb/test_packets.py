"""Framing, with whatever may come over a line."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from interpose.gdb import packets
from interpose.gdb.packets import Reader, Signal, escape, expand, frame, unescape


def read(*pieces: bytes) -> list[bytes | Signal]:
    reader = Reader()
    return [item for piece in pieces for item in reader.feed(piece)]


def test_packet_and_checksum() -> None:
    assert frame(b"OK") == b"$OK#9a"
    assert read(b"$OK#9a") == [b"OK"]
    assert read(b"$OK#9b") == [Signal.DAMAGED]
    assert read(b"$OK#zz") == [Signal.DAMAGED]
    assert read(b"$#00") == [b""]


def test_between_packets() -> None:
    assert read(b"+-\x03$g#67+") == [Signal.ACK, Signal.NACK, Signal.INTERRUPT, b"g", Signal.ACK]
    assert read(b"noise\n$g#67") == [b"g"]


def test_packet_that_lost_its_end() -> None:
    assert read(b"$m1234$g#67") == [Signal.DAMAGED, b"g"]


def test_escapes() -> None:
    assert frame(b"}#$*").startswith(b"$}]}\x03}\x04}\n#")
    assert unescape(b"a}") == b"a"


def test_run_lengths() -> None:
    assert expand(b"0* ") == b"0000"
    assert expand(b"*a") is None
    assert expand(b"0*") is None
    assert expand(b"0*\x1f") is None
    assert expand(b"0*~" * 1000) is None


@given(st.binary(max_size=300), st.lists(st.integers(1, 20), max_size=30))
def test_whatever_is_framed_is_read(content: bytes, cuts: list[int]) -> None:
    whole = frame(content)
    pieces, at = [], 0
    for cut in cuts:
        pieces.append(whole[at : at + cut])
        at += cut
    assert read(*pieces, whole[at:]) == [content]


@given(st.binary(max_size=300))
def test_escape_is_undone(content: bytes) -> None:
    assert unescape(escape(content)) == content


@given(st.lists(st.binary(max_size=200), max_size=20))
def test_garbage_is_survived(pieces: list[bytes]) -> None:
    for item in read(*pieces):
        assert isinstance(item, (bytes, Signal))
    # A packet after garbage is read, as soon as what may be an unfinished one has ended.
    assert read(*pieces, b"#00", frame(b"g"))[-1] == b"g"


def test_endless_packet_takes_no_memory() -> None:
    reader = Reader()
    for _ in range(100):
        for item in reader.feed(b"$" + b"a" * 10_000):
            assert item is Signal.DAMAGED
    assert len(reader._buffer) <= 4 * packets.PACKET_SIZE + 10_001
