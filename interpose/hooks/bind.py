"""Hooks as rules of the redirection core: their targets are entries of the stubs (wrappers/hook_stubs.S)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.errors import LaunchError
from interpose.jit._native import lib
from interpose.redir import Change, CodeObject
from interpose.zenc import Kind, RedirectName

if TYPE_CHECKING:
    from collections.abc import Container

    from interpose.hooks.registry import Hook, Registry
    from interpose.hooks.remote import RemoteHook
    from interpose.hooks.service import HookService
    from interpose.redir import RedirState

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
    found.append((RedirectName(Kind.WRAP, "*", UNWINDER[1]), find_fde, UNWINDER[0]))
    return redir.add_rules(owner, found, stubs)


def unbound_lines(registry: Registry, bound: Container[int]) -> list[str]:
    """Name the hooks that were never bound, with the reason."""
    first: dict[tuple[str, str], Hook | RemoteHook] = {}
    for hook in registry:
        if hook.number in bound:
            first.setdefault((hook.rule.soname, hook.rule.function), hook)
    lines = []
    for hook in registry:
        if hook.number in bound:
            continue
        what = f"{hook.rule.soname}:{hook.rule.function}"
        other = first.get((hook.rule.soname, hook.rule.function))
        why = f"no function {what} was there"
        if other is not None:
            why = f"{what} is bound to {other.name} ({other.place})"
        lines.append(f"Hook {hook.name} ({hook.place}): {why}")
    return lines


def rules(registry: Registry, table: int) -> tuple[CodeObject, list[tuple[RedirectName, int, str]]]:
    """Who states the rules of hooks, and the rules, for stubs whose first entry is at ``table``."""
    files = list(dict.fromkeys(hook.file for hook in registry))
    owner = CodeObject(",".join(files), (), ())
    return owner, [(hook.rule, table + hook.number * lib.IP_HOOK_ENTRY_SIZE, hook.name) for hook in registry]
