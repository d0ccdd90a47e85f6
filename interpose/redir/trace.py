"""Text about redirections: ``--trace-redir=yes`` and the lines that ``-v`` shows.

See docs/spec/redirection.md section 8, and the same output of Valgrind 3.19, observed (order of the tables,
truncation of names to their columns). Lines come without the prefix (``--PID-- `` or ``==PID== ``); the
caller adds it.
"""

from __future__ import annotations

from interpose.redir.change import Message, MissingText
from interpose.redir.model import ActiveBinding, CodeObject, Conflict, Specification, Verdict

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from enum import Enum
else:
    from interpose.records import Enum

_VERDICTS: dict[Verdict, tuple[int, str]] = {
    Verdict.CONFLICT: (1, "WARNING: new redirection conflicts with existing -- ignoring it"),
    Verdict.PREFERRED: (1, "Preferring higher priority redirection:"),
    Verdict.LOWER: (2, "Ignoring lower priority redirection:"),
    Verdict.DUPLICATE: (2, "Ignoring duplicate redirection:"),
}


class Reason(Enum):
    """The event after which the state is printed; the value is what the header says."""

    INITIALISE = "VG_(redir_initialise)"
    NEW_OBJECT = "VG_(redir_notify_new_DebugInfo)"
    DELETED_OBJECT = "VG_(redir_notify_delete_DebugInfo)"


def specification_line(spec: Specification) -> str:
    """A rule, as ``--trace-redir`` prints it."""
    scope = "G" if spec.global_only else "L"
    return (
        f"     {spec.soname:<25.25s} {spec.function:<30.30s} {spec.kind.value}{scope}-> "
        f"({spec.tag:04d}.{spec.priority:d}) 0x{spec.target:08x}"
    )


def binding_line(binding: ActiveBinding, inner: bool = False) -> str:
    """One line of the active bindings; ``inner``: the replacement that a wrapper goes around."""
    spec = binding.inner if inner and binding.inner is not None else binding.spec
    return (
        f"0x{binding.address:08x} ({binding.symbol:<20.20s}) {spec.kind.value}-> "
        f"({spec.tag:04d}.{spec.priority:d}) 0x{spec.target:08x} {spec.target_name}"
    )


def binding_lines(binding: ActiveBinding) -> list[str]:
    """A wrapper, then the replacement that it goes around."""
    lines = [binding_line(binding)]
    return lines if binding.inner is None else [*lines, binding_line(binding, inner=True)]


def state_lines(
    reason: Reason,
    objects: Iterable[CodeObject],
    specs: Iterable[Specification],
    bindings: Iterable[ActiveBinding],
) -> list[str]:
    """Return the whole block of ``--trace-redir=yes``.

    The newest object comes first, and in it the specification with the highest target; hardwired ones come
    last, the newest of them first.
    """
    by_owner: dict[CodeObject | None, list[Specification]] = {}
    for spec in specs:
        by_owner.setdefault(spec.owner, []).append(spec)
    for group in by_owner.values():
        group.sort(key=lambda spec: spec.order if spec.owner is None else spec.target, reverse=True)
    lines = ["<<", f"   ------ REDIR STATE after {reason.value} ------"]
    for obj in reversed(list(objects)):
        lines.append(f"   TOPSPECS of soname {obj.soname} filename {obj.path}")
        lines += map(specification_line, by_owner.get(obj, ()))
    if None in by_owner:
        lines.append("   TOPSPECS of soname (hardwired)")
        lines += map(specification_line, by_owner[None])
    lines.append("   ------ ACTIVE ------")
    for binding in sorted(bindings, key=lambda b: b.address):
        lines += [f"    {line}" for line in binding_lines(binding)]
    lines.append(">>")
    return lines


def first_use_line(
    binding: ActiveBinding,
    inner: bool = False,
    name_of: Callable[[int], str | None] = lambda address: None,
) -> str:
    """Return what ``-v`` prints when a redirected address is executed for the first time.

    :param inner: when a wrapper calls the replacement that it goes around for the first time.
    :param name_of: the name that stack traces have for a function, which may have several: the one that the
        rule is about need not be that one.
    """
    spec = binding.inner if inner and binding.inner is not None else binding.spec
    target = name_of(spec.target) if spec.is_tools else None
    return (
        f"REDIR: 0x{binding.address:x} ({binding.soname}:{name_of(binding.address) or binding.symbol}) "
        f"redirected to 0x{spec.target:x} ({target or spec.target_name})"
    )


def conflict_messages(conflict: Conflict) -> Iterator[Message]:
    """What is said of two claims on one address."""
    level, text = _VERDICTS[conflict.verdict]
    yield Message(level, text)
    yield Message(level, f"    old: {binding_line(conflict.old)}", debug=True)
    yield Message(level, f"    new: {binding_line(conflict.new)}", debug=True)


def added_messages(binding: ActiveBinding) -> Iterator[Message]:
    """What is said of a new binding."""
    yield Message(2, "Adding active redirection:")
    for line in binding_lines(binding):
        yield Message(2, f"    new: {line}", debug=True)


def ifunc_target_message(resolver: int, target: int, binding: ActiveBinding) -> Message:
    """What is said when a resolver has returned a function that a rule claims."""
    return Message(
        2,
        f"Adding redirect for indirect function 0x{resolver:x} from 0x{target:x} -> 0x{binding.target:x}",
        debug=True,
    )


def missing_text_lines(missing: Iterable[MissingText]) -> list[str]:
    """Return the fatal text of ``--require-text-symbol``: lines for a prefix, unless they are empty."""
    lines = []
    for each in missing:
        lines += [
            "",
            " Fatal error at when loading library with soname",
            f"    {each.obj.soname}",
            " Cannot find any text symbol with a name that matches the pattern",
            f"    {each.required.function}",
            " as required by a --require-text-symbol= specification.",
        ]
    return [*lines, "", " Cannot continue -- exiting now.", ""]
