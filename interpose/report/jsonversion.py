"""What the report in JSON calls itself (docs/json.md), for those that write it and those that read it."""

from __future__ import annotations

FORMAT = "interpose-report"
VERSION = 1
