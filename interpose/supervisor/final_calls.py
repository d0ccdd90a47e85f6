"""Functions by which libraries release what they keep, called when a program ends: docs/spec/redirection.md
section 5."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.supervisor.main import Supervisor

_STATE = 24  # in struct r_debug (<link.h>): 0 when the list of libraries is whole and they are relocated


def functions(supervisor: Supervisor, pc: int) -> list[int]:
    """Addresses of the functions to call, in order; the program's last system call is at ``pc``."""
    found = ask_ahead(supervisor)
    return [] if found and _is_linking(supervisor, pc) else found


def ask_ahead(supervisor: Supervisor) -> list[int]:
    """Look for the functions now: what a supervisor knows, its children that are forked from it know, too."""
    core = supervisor.config.core
    wanted = []
    if core.run_cxx_freeres:
        wanted.append("_ZN9__gnu_cxx9__freeresEv")
    if core.run_libc_freeres:
        wanted.append("__libc_freeres")
    if not wanted:
        return []
    # A static program that loads libraries has a second C library, whose exit never runs.
    only = "" if supervisor.interpreter else supervisor.objects.static_program()
    return [addr for name in wanted if (addr := supervisor.objects.find_function(name, only))]


def _is_linking(supervisor: Supervisor, pc: int) -> bool:
    """The dynamic linker gives up before the libraries are relocated: nothing in them can be called."""
    at = _programs(supervisor, pc) if supervisor.interpreter else _linkers_own(supervisor, pc)
    return at is not None and (not at or any(supervisor.client.read(at + _STATE, 4) or b"\0"))


def _programs(supervisor: Supervisor, pc: int) -> int | None:
    """The address that a program has of ``struct r_debug``, 0 before its linker has told it.

    None where it does not end in its linker, or has no place for it.
    """
    if not supervisor.objects.is_code_of(pc, supervisor.interpreter):
        return None
    from interpose.gdb.libraries import debug_field

    client = supervisor.client
    try:
        with open(f"/proc/{client.pid}/auxv", "rb") as file:
            field = debug_field(client, file.read())
    except OSError:
        return None
    return int.from_bytes(client.read(field, 8) or b"", "little") if field else None


def _linkers_own(supervisor: Supervisor, pc: int) -> int | None:
    """Address of ``_r_debug`` in a dynamic linker that was executed itself and ends at ``pc``; else None.

    ``ld.so PROGRAM``: the program's dynamic section is not where the auxiliary vector says.
    """
    mapped = supervisor.objects.mapped_at(pc)
    image = None if mapped is None else mapped.file.image()
    if mapped is None or image is None or not (image.soname or "").startswith("ld-"):
        return None
    found = [symbol.value for symbol in image.dynsyms if symbol.name == "_r_debug" and symbol.is_defined]
    return mapped.start - mapped.offset + found[0] if found else None
