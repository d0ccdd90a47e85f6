"""What the wrappers find in messages between two ranks."""

from __future__ import annotations

from collections.abc import Callable


def test_point_to_point(check: Callable[..., object]) -> None:
    run = check("p2p.c", 2)
    assert "MPI_Send: byte 36 of buf, in element 9 of 10, is not defined (or not there)" in run.said(0)
    assert any(
        line.startswith("1 request not completed at MPI_Finalize, made by MPI_Irecv (p2p.c:")
        for line in run.said(1)
    )
