"""The checksum of what is kept (interpose/jit/digest.h)."""

from __future__ import annotations

from interpose.jit._native import ffi, lib


def digest(data: bytes) -> bytes:
    """16 bytes."""
    out = ffi.new("uint64_t[2]")
    lib.ip_digest(data, len(data), out)
    return ffi.buffer(out)[:]
