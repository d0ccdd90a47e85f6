"""--stats=yes: what the engine did."""

from __future__ import annotations

from interpose.jit._native import ffi, lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def stats_lines(header: Any) -> list[str]:
    """Figures of the translator and of the dispatcher."""
    s = ffi.new("struct ip_service_stats *")
    lib.ip_service_get_stats(s)
    blocks = max(1, s.blocks)
    count = header.counters
    return [
        f"translate: {s.blocks:,} blocks, {s.insns:,} guest instructions, {s.requests:,} requests, "
        f"{s.here:,} answered by the program's own threads",
        f"translate: {s.guest_bytes:,} -> {s.host_bytes:,} bytes, "
        f"{s.ns / blocks / 1000:.2f} us a block, {s.ns / 1e6:.1f} ms in all",
        f"translate: {s.chained:,} chained, {s.invalidated:,} dropped, {s.compared:,} compared, "
        f"{s.flushes:,} whole flushes, {s.kept:,} kept from earlier runs",
        f"dispatch: {count[lib.IP_N_MISSES]:,} look-up misses, {count[lib.IP_N_EXITS]:,} other exits",
        f"slow paths: {count[lib.IP_N_SLOW]:,} loads, {count[lib.IP_N_SLOW + 1]:,} stores, "
        f"{count[lib.IP_N_SLOW + 2]:,} tracked instructions, {count[lib.IP_N_SLOW + 3]:,} stack changes, "
        f"{count[lib.IP_N_LIGHT]:,} answered on the spot",
    ]
