"""What --stop-after prints: the last block that ran, translated anew, stage by stage
(docs/translation.md)."""

from __future__ import annotations

from interpose.jit._native import lib
from interpose.jit.stages import stage_lines, stages
from interpose.supervisor.stacktrace import guest_pc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.main import Supervisor

_CODE_BYTES = 1024  # more than the longest block has


def stopped_lines(supervisor: Supervisor, key: int, next_pc: int) -> list[str]:
    """The six stages of the block with this key, and where the real CPU goes on."""
    pc = key & lib.IP_KEY_PC
    lines = [f"Stopped after {supervisor.config.core.stop_after:,} basic blocks; the last one is at 0x{pc:X}"]
    lines += block_lines(supervisor, key)
    lines.append(f"The real CPU goes on at 0x{guest_pc(next_pc):X}")
    return lines


def block_lines(supervisor: Supervisor, key: int) -> list[str]:
    """The block with a key, translated anew, stage by stage; nothing if its code cannot be read."""
    pc = key & lib.IP_KEY_PC
    binding = supervisor.objects.redir.active.get(pc)
    rule = None if binding is None else binding.inner if key & lib.IP_KEY_NOREDIR else binding.spec
    start = pc if rule is None else rule.target
    lines = [f"It is redirected to 0x{start:X}"] if start != pc else []
    code = readable(supervisor, start)
    if code:
        flags = supervisor.client.header.config_flags
        track = bool(key & lib.IP_KEY_TRACK)
        titled = stages(code, pc=start, tool=supervisor.config.tool_name, flags=flags, track=track)
        lines += ["", *stage_lines(titled)]
    return lines


def readable(supervisor: Supervisor, addr: int) -> bytes:
    """The code at an address, as far as its mapping goes."""
    whole = supervisor.client.read(addr, _CODE_BYTES)
    if whole is not None:
        return whole
    return supervisor.client.read(addr, 4096 - addr % 4096) or b""
