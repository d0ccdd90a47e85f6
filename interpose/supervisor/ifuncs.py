"""Indirect functions that were resolved before anybody wanted to redirect them.

Their resolvers will not run again for those who hold the result already, so what they returned is read from
the words that the dynamic linker filled.
"""

from __future__ import annotations

from interpose.elf.errors import ElfError
from interpose.elf.relocations import function_words

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from interpose.elf.symbolizer import ObjectFile
    from interpose.redir import ActiveBinding, CodeObject


def resolved_targets(
    pending: Iterable[ActiveBinding],
    objects: Iterable[CodeObject],
    file_of: Callable[[CodeObject], ObjectFile],
    read: Callable[[int, int], bytes | None],
) -> Iterator[tuple[int, int]]:
    """Pairs of a resolver and a function that it returned, for resolvers of bindings that wait."""
    objects = tuple(objects)
    owners = {b.address: next((o for o in objects if o.contains(b.address)), None) for b in pending}
    starts: dict[CodeObject, set[int]] = {}
    by_name: dict[str, list[int]] = {}
    for resolver, owner in owners.items():
        if owner is None:
            continue
        if owner not in starts:
            starts[owner] = _function_starts(owner, file_of(owner))
        for symbol in owner.symbols:
            if symbol.is_ifunc and symbol.address + owner.load_bias == resolver:
                by_name.setdefault(symbol.name.partition("@")[0], []).append(resolver)
    seen = set()
    for obj in objects:
        image = file_of(obj).image
        try:
            words = list(function_words(image)) if image is not None else []
        except ElfError:
            continue
        for word in words:
            resolver = word.resolver + obj.load_bias
            wanted = [resolver] if word.resolver and resolver in owners else by_name.get(word.name, [])
            for resolver in wanted:
                data = read(word.address + obj.load_bias, 8)
                target = int.from_bytes(data or b"", "little")
                owner = owners[resolver]
                # Else not filled yet, or with another function of that name.
                if owner is None or target not in starts[owner] or target == resolver:
                    continue
                if (resolver, target) not in seen:
                    seen.add((resolver, target))
                    yield resolver, target


def _function_starts(owner: CodeObject, file: ObjectFile) -> set[int]:
    """Also of functions in no symbol table: what a resolver chooses from is static as a rule.

    Where a word leads that is not filled yet, in the procedure linkage table, none begins.
    """
    starts = {symbol.address + owner.load_bias for symbol in owner.symbols if symbol.is_text}
    if file.frames is not None:
        starts.update(start + owner.load_bias for start in file.frames.starts)
    return starts
