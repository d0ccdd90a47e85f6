"""Execution trees: heap blocks by the stacks that allocated them, in callgrind's format, for its viewers.

Events and layout are those of Valgrind's ``xtmemory`` and ``xtleak``.
"""

from __future__ import annotations

import os

from interpose.errors import InterposeError

from .leak import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from interpose.report.stack import ResolvedFrame, Stack, StackResolver

    from .heap import HeapBlock
    from .loss import LossRecord
    from .tool import Tool

MEMORY_EVENTS = (("curB", "currently allocated Bytes"), ("curBk", "currently allocated Blocks"))
_BYTES = (
    ("RB", "Reachable Bytes"),
    ("PB", "Possibly lost Bytes"),
    ("IB", "Indirectly lost Bytes"),
    ("DB", "Definitely lost Bytes (direct plus indirect)"),
    ("DIB", "Definitely Indirectly lost Bytes (subset of DB)"),
)
_BLOCKS = (
    ("RBk", "reachable Blocks"),
    ("PBk", "Possibly lost Blocks"),
    ("IBk", "Indirectly lost Blocks"),
    ("DBk", "Definitely lost Blocks"),
)
LEAK_EVENTS = tuple(
    (f"{short}{name}", f"{long}{what}")
    for short, long in (("", ""), ("i", "increase "), ("d", "decrease "))
    for name, what in (*_BYTES, *_BLOCKS)
)
_PLACE = {State.REACHABLE: 0, State.POSSIBLE: 1, State.INDIRECT: 2, State.DEFINITE: 3}
_N = len(_BYTES) + len(_BLOCKS)


class _Names:
    """Files or functions, each written out once and by number from then on."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> str:
        if name in self._numbers:
            return f"({self._numbers[name]})"
        self._numbers[name] = number = len(self._numbers) + 1
        return f"({number}) {name}"


def _file(frame: ResolvedFrame) -> str:
    if frame.file is None:
        return frame.obj or "???"
    return os.path.join(frame.dir, frame.file) if frame.dir else frame.file


def tree_lines(
    resolver: StackResolver,
    events: Sequence[tuple[str, str]],
    costs: Iterable[tuple[Stack, Sequence[int]]],
    pid: int,
    cmd: str,
) -> list[str]:
    """The file's lines, for the costs of each stack; a stack's innermost frame is the allocation function."""
    lines = ["# callgrind format", "version: 1", "creator: xtree-1", f"pid: {pid}", f"cmd: {cmd}", ""]
    lines.append("positions: line")
    lines += [f"event: {name} : {what}" for name, what in events]
    lines.append("events: " + "".join(f"{name}  " for name, _ in events)[:-1])
    files, functions = _Names(), _Names()
    sums = [0] * len(events)
    for stack, cost in costs:
        sums = [a + b for a, b in zip(sums, cost, strict=True)]
        text = " ".join(map(str, cost))
        frames = resolver.frames(stack[1:] or stack)[::-1]
        places = [(_file(frame), frame.name or f"0x{frame.ip:X}", frame.line or 0) for frame in frames] or [
            ("???", "???", 0)
        ]
        for at, (file, function, number) in enumerate(places):
            lines += [f"fl={files[file]}", f"fn={functions[function]}"]
            if at + 1 == len(places):
                lines += [f"{number} {text}", ""]
                continue
            to_file, to_function, to_line = places[at + 1]
            lines += [f"{number}", f"cfi={files[to_file]}", f"cfn={functions[to_function]}"]
            lines += [f"calls=0 {to_line}", f"{number} {text}"]
    lines += ["totals: " + " ".join(map(str, sums)), ""]
    return lines


def memory_costs(blocks: Iterable[HeapBlock]) -> list[tuple[Stack, Sequence[int]]]:
    """Bytes and blocks in use, by stack."""
    found: dict[Stack, list[int]] = {}
    for block in blocks:
        cost = found.setdefault(block.alloc_stack or (), [0, 0])
        cost[0] += block.size
        cost[1] += 1
    return list(found.items())


def _leak_cost(record: LossRecord) -> list[int]:
    place = _PLACE[record.state]

    def row(size: int, indirect: int, blocks: int) -> list[int]:
        cost = [0] * _N
        cost[place] = size + indirect
        if record.state is State.DEFINITE:
            cost[4] = indirect
        cost[len(_BYTES) + place] = blocks
        return cost

    now = row(record.direct.bytes, record.indirect.bytes, record.direct.blocks)
    old = row(record.direct.old_bytes, record.indirect.old_bytes, record.direct.old_blocks)
    more = [max(a - b, 0) for a, b in zip(now, old, strict=True)]
    less = [max(b - a, 0) for a, b in zip(now, old, strict=True)]
    return [*now, *more, *less]


def leak_costs(records: Iterable[LossRecord]) -> list[tuple[Stack, Sequence[int]]]:
    """What each loss record has, and has more or less than in the search before."""
    return [(record.stack, _leak_cost(record)) for record in records]


def write_tree(
    tool: Tool,
    template: str,
    events: Sequence[tuple[str, str]],
    costs: Iterable[tuple[Stack, Sequence[int]]],
) -> str:
    """Write a tree to the file that a template names; its path. An InterposeError if that cannot be."""
    names = tool.log.names
    assert names is not None
    path = names.expand("--xtree-memory-file", template)
    client, argv = tool.supervisor.client, tool.supervisor.session.argv
    text = "\n".join(tree_lines(tool.resolver, events, costs, client.pid, " ".join(argv)))
    try:
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK
        with open(os.open(path, flags, 0o600), "w", encoding="utf-8", errors="surrogateescape") as file:
            file.write(text)
    except (OSError, ValueError) as error:
        raise InterposeError(f"Cannot write the execution tree '{path}': {error}") from None
    return path
