"""What a profile may have at most. Hostile files: what one line or one record may take is bounded."""

from __future__ import annotations

POSITIONS = (("line",), ("instr",), ("instr", "line"))
MAX_LINE = 1 << 20
MAX_EVENTS = 256
MAX_NUMBER = (1 << 64) - 1
