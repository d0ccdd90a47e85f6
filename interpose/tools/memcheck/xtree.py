"""Execution trees: heap blocks by the stacks that allocated them, in callgrind's format, for its viewers.

Events and layout are those of Valgrind's ``xtmemory`` and ``xtleak``.
"""

from __future__ import annotations

import os
from itertools import pairwise

from interpose.errors import InterposeError
from interpose.formats.callgrind.writer import shown
from interpose.report.given import open_for_writing
from interpose.report.stack import ResolvedFrame, describe_frame

from .leak import State

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from interpose.report.stack import Stack, StackResolver

    from .blocks import Blocks
    from .loss import LossRecord
    from .tool import Tool

    Events = Sequence[tuple[str, str]]
    """Short and long names."""
    Costs = Sequence[tuple[Stack, Sequence[int]]]
    """For each stack one number an event."""
    MemoryTree = tuple[Events, Costs]
    Place = tuple[int, str]
    """A frame's address, and what is said of it."""
    Path = Sequence[Place]
    """A stack, innermost first."""

MEMORY_EVENTS = (("curB", "currently allocated Bytes"), ("curBk", "currently allocated Blocks"))
TOTAL_EVENTS = (
    *MEMORY_EVENTS,
    ("totB", "total allocated Bytes"),
    ("totBk", "total allocated Blocks"),
    ("totFdB", "total Freed Bytes"),
    ("totFdBk", "total Freed Blocks"),
)
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
    (f"{short}{name}", f"{long}{what.partition(' (')[0] if long else what}")
    for short, long in (("", ""), ("i", "increase "), ("d", "decrease "))
    for name, what in (*_BYTES, *_BLOCKS)
)
_PLACE = {State.REACHABLE: 0, State.POSSIBLE: 1, State.INDIRECT: 2, State.DEFINITE: 3}
_N = len(_BYTES) + len(_BLOCKS)


class _Names:
    """Files or functions, each written out once and by number from then on."""

    def __init__(self, compress: bool) -> None:
        self._compress = compress
        self._numbers: dict[str, int] = {}

    def __getitem__(self, name: str) -> str:
        if not self._compress:
            return shown(name)
        if name in self._numbers:
            return f"({self._numbers[name]})"
        self._numbers[name] = number = len(self._numbers) + 1
        return f"({number}) {shown(name)}"


def _file(frame: ResolvedFrame) -> str:
    if frame.file is None:
        return "UnknownFile???"
    return os.path.join(frame.dir, frame.file) if frame.dir else frame.file


def _function(frame: ResolvedFrame) -> str:
    return frame.name or "UnknownFn???"


def tree_lines(
    resolver: StackResolver, events: Events, costs: Costs, pid: int, cmd: str, compress: bool = True
) -> Iterator[str]:
    """The file's lines, for the costs of each stack."""
    yield from ("# callgrind format", "version: 1", "creator: xtree-1", f"pid: {pid}", f"cmd: {cmd}", "")
    yield "positions: line"
    for name, what in events:
        yield f"event: {name} : {what}"
    yield "events: " + "".join(f"{name}  " for name, _ in events)[:-1]
    files, functions = _Names(compress), _Names(compress)

    def own(frame: ResolvedFrame) -> str:
        return f"fl={files[_file(frame)]}\nfn={functions[_function(frame)]}\n{frame.line or 0} "

    def call(frame: ResolvedFrame, to: ResolvedFrame) -> str:
        return (
            f"{own(frame).rstrip()}\n"
            f"cfi={files[_file(to)]}\ncfn={functions[_function(to)]}\n"
            f"calls=0 {to.line or 0}\n{frame.line or 0} "
        )

    sums = [0] * len(events)
    nothing = ResolvedFrame(0, None, "???")
    # Most stacks have calls that others have, too. The frames are kept, so that their identities stay theirs.
    known: dict[tuple[int, int], tuple[str, ResolvedFrame, ResolvedFrame]] = {}
    for stack, cost in costs:
        sums = [a + b for a, b in zip(sums, cost, strict=True)]
        frames = resolver.frames(stack)[::-1] or [nothing]
        parts = []
        for frame, to in pairwise(frames):
            place = id(frame), id(to)
            if place in known:
                parts.append(known[place][0])
            else:
                parts.append(call(frame, to))
                known[place] = call(frame, to), frame, to  # names that were written out are numbers by now
        parts.append(own(frames[-1]))
        text = " ".join(map(str, cost))
        yield f"{text}\n".join(parts) + f"{text}\n"
    yield "totals: " + " ".join(map(str, sums))


def massif_lines(
    resolver: StackResolver, events: Events, costs: Costs, cmd: str, milliseconds: int
) -> Iterator[str]:
    """The same in massif's format: one snapshot for each event, a tree of callers in each."""
    # Frames are few and stacks many. The frames are kept, so that their identities stay theirs.
    places: dict[int, tuple[Place, ResolvedFrame]] = {}

    def place_of(frame: ResolvedFrame) -> Place:
        found = places.get(id(frame))
        if found is None:
            found = places[id(frame)] = (frame.ip, describe_frame(frame, resolver.options)), frame
        return found[0]

    paths = [([place_of(frame) for frame in resolver.frames(stack)], cost) for stack, cost in costs]
    yield from ("desc: xtree.produce_report", f"cmd: {cmd}", "time_unit: ms")
    for number, (name, what) in enumerate(events):
        total = sum(cost[number] for _, cost in costs)
        yield from ("#-----------", f"snapshot={number}", "#-----------", f"time={milliseconds}")
        yield from (f"mem_heap_B={total}", "mem_heap_extra_B=0", "mem_stacks_B=0", "heap_tree=detailed")
        yield from _callers(f"{total} {name} : {what}", [(p, c[number]) for p, c in paths])


def _callers(title: str, costs: Sequence[tuple[Path, int]]) -> Iterator[str]:
    """A node and those below it: the costs by callers, the most first."""
    open_nodes = [(0, title, costs)]
    while open_nodes:
        depth, title, costs = open_nodes.pop()
        below: dict[Place, list[tuple[Path, int]]] = {}
        for item in costs:
            path = item[0]
            if depth < len(path):
                below.setdefault(path[depth], []).append(item)
        yield f"{' ' * depth}n{len(below)}: {title}"
        nodes = sorted((-sum(cost for _, cost in found), place) for place, found in below.items())
        for total, place in reversed(nodes):
            open_nodes.append((depth + 1, f"{-total} 0x{place[0]:X}: {place[1]}", below[place]))


def _callers_of(resolver: StackResolver, stack: Stack | None) -> Stack:
    """A stack without its innermost frame, malloc or the program's own allocator; one that is alone stays."""
    if stack and stack[0] not in stack[1:] and not resolver.may_end(stack):
        return stack[1:]
    frames = resolver.frames(stack) if stack else []
    is_alone = not frames or frames[0].ip == frames[-1].ip
    return (stack or ()) if is_alone else (stack or ())[1:]


def memory_costs(resolver: StackResolver, blocks: Blocks) -> Costs:
    """Bytes and blocks in use, by stack."""
    return [(_callers_of(resolver, stack), cost) for stack, cost in _in_use(blocks).items()]


def total_costs(
    resolver: StackResolver, blocks: Blocks, counts: Iterable[tuple[Stack, int, int, int, int]]
) -> Costs:
    """The same with all that each stack allocated, and freed, since the start."""
    in_use = _in_use(blocks)
    return [
        (_callers_of(resolver, stack), (*in_use.get(stack, (0, 0)), *totals)) for stack, *totals in counts
    ]


def _in_use(blocks: Blocks) -> dict[Stack, list[int]]:
    found: dict[Stack, list[int]] = {}
    sums = blocks.by_origin()
    blocks.read_ahead(sums)
    for origin, (size, count) in sums.items():
        cost = found.setdefault(blocks.origin(origin)[0] or (), [0, 0])
        cost[0] += size
        cost[1] += count
    return found


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
    if record.is_new and not record.old_bytes:
        return [*now, *now, *[0] * _N]
    old = row(record.direct.old_bytes, record.indirect.old_bytes, record.direct.old_blocks)
    more = [max(a - b, 0) for a, b in zip(now, old, strict=True)]
    less = [max(b - a, 0) for a, b in zip(now, old, strict=True)]
    return [*now, *more, *less]


def leak_costs(records: Iterable[LossRecord]) -> Costs:
    """What each loss record has, and has more or less than in the search before."""
    return [(record.stack, _leak_cost(record)) for record in records]


def file_name(tool: Tool, option: str, template: str) -> str:
    """The file that a template names."""
    names = tool.log.names
    assert names is not None
    return names.expand(option, template)


def write_tree(tool: Tool, path: str, events: Events, costs: Costs, may_be_massif: bool = False) -> None:
    """Write a tree. An InterposeError if that cannot be.

    :param may_be_massif: a file with ``.ms`` in its name gets massif's format.
    """
    core = tool.config.core
    tool.supervisor.symbolizer.want_directories()
    tool.resolver.forget()
    cmd = shown(" ".join(tool.supervisor.session.argv))
    if may_be_massif and ".ms" in os.path.basename(path):
        lines = massif_lines(tool.resolver, events, costs, cmd, tool.log.milliseconds())
    else:
        pid = tool.supervisor.client.pid
        lines = tree_lines(tool.resolver, events, costs, pid, cmd, core.xtree_compress_strings)
    try:
        fd = open_for_writing(path, 0o644)
        with open(fd, "w", encoding="utf-8", errors="surrogateescape") as file:
            file.writelines(line + "\n" for line in lines)
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        raise InterposeError(f"can not open xtree output file '{path}': {reason}") from None
