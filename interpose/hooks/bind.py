"""Hooks as rules of the redirection core: their targets are entries of the stubs (wrappers/hook_stubs.S)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from interpose.errors import LaunchError
from interpose.jit._native import lib
from interpose.redir import Change, CodeObject
from interpose.zenc import Kind, RedirectName

if TYPE_CHECKING:
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
    files = list(dict.fromkeys(hook.file for hook in service.registry))
    owner = CodeObject(",".join(files), (), ())
    rules = [
        (hook.rule, table + hook.number * lib.IP_HOOK_ENTRY_SIZE, hook.name) for hook in service.registry
    ]
    rules.append((RedirectName(Kind.WRAP, "*", UNWINDER[1]), find_fde, UNWINDER[0]))
    return redir.add_rules(owner, rules, stubs)
