"""Hooks as rules of the redirection core: their targets are entries of the stubs (wrappers/hook_stubs.S)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.errors import LaunchError
from interpose.jit._native import lib
from interpose.redir import Change, CodeObject
from interpose.redir.model import Verdict
from interpose.zenc import Kind, RedirectName

if TYPE_CHECKING:
    from interpose.hooks.registry import Registry
    from interpose.hooks.service import HookService
    from interpose.redir import RedirState
    from interpose.redir.model import ActiveBinding, Specification

TABLE, COMMON = "interpose_hook_entries", "interpose_hook"
UNWINDER = ("interpose_find_fde", "_Unwind_Find_FDE")
"""Our function, and the one of GCC's unwinder that it goes around: nothing else tells it of the stubs."""


def bind(service: HookService, redir: RedirState, stubs: CodeObject) -> Change:
    """Add the rules of all hooks; the stubs are mapped."""
    table, common, find_fde = (redir.address_of(name, stubs) for name in (TABLE, COMMON, UNWINDER[0]))
    if table is None or common is None or find_fde is None:
        raise LaunchError(f"the installation is incomplete: {stubs.path} has no entries for hooks")
    service.bound_at(table, common)
    owner, found = rules(service.registry, table)
    # First: a hook in its place would leave exceptions without the way through all the others.
    found.insert(0, (RedirectName(Kind.WRAP, "*", UNWINDER[1]), find_fde, UNWINDER[0]))
    return redir.add_rules(owner, found, stubs)


class Fates:
    """Which hooks were bound at some time, and which had to give way."""

    def __init__(self) -> None:
        self._bound: set[int] = set()
        self._before: dict[int, ActiveBinding] = {}
        """What a hook first found, by its number, at a function that it was to stand for."""

    def note(self, change: Change, table: int) -> None:
        """Bindings were added; the entries of the stubs begin at ``table``."""
        for binding in change.added:
            if binding.spec.wants_original:
                self._bound.add(_number(binding.target, table))
        for conflict in change.conflicts:
            winner, loser = conflict.old, conflict.new
            if conflict.verdict is Verdict.PREFERRED:
                winner, loser = loser, winner
            if loser.spec.wants_original:
                self._before.setdefault(_number(loser.spec.target, table), winner)

    def unbound_lines(self, registry: Registry, table: int) -> list[str]:
        """Name the hooks that were never bound, with the reason."""
        lines = []
        for hook in registry:
            if hook.number in self._bound:
                continue
            why = f"no function {hook.rule.soname}:{hook.rule.function} was there"
            before = self._before.get(hook.number)
            if before is not None:
                why = f"{before.soname}:{before.symbol} is bound to {_name(before.spec, registry, table)}"
            lines.append(f"Hook {hook.name} ({hook.place}): {why}")
        return lines


def _number(target: int, table: int) -> int:
    """Which hook's entry of the stubs that is."""
    return (target - table) // lib.IP_HOOK_ENTRY_SIZE


def _name(spec: Specification, registry: Registry, table: int) -> str:
    if spec.target_name == UNWINDER[0]:
        return "what exceptions need where functions are hooked"
    if spec.wants_original:
        hook = registry[_number(spec.target, table)]
        return f"{hook.name} ({hook.place})"
    if spec.is_tools or spec.owner is None:
        return f"the tool's {spec.target_name}"
    return f"{spec.target_name} ({spec.owner.path})"


def rules(registry: Registry, table: int) -> tuple[CodeObject, list[tuple[RedirectName, int, str]]]:
    """Who states the rules of hooks, and the rules, for stubs whose first entry is at ``table``."""
    files = list(dict.fromkeys(hook.file for hook in registry))
    owner = CodeObject(",".join(files), (), ())
    return owner, [(hook.rule, table + hook.number * lib.IP_HOOK_ENTRY_SIZE, hook.name) for hook in registry]
