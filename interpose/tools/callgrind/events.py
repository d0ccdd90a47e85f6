"""The events of a run, by its options: their names, order, and places in a cost."""

from __future__ import annotations

from interpose.jit._native import ffi, lib
from interpose.tools.callgrind.options import MAX_CALLERS, MAX_LEVELS, MAX_RECURSIONS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.formats.callgrind import EventType
    from interpose.options.parse import Config

# By enum cg_event.
NAMES = (
    "Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw", "ILdmr", "DLdmr", "DLdmw",
    "AcCost1", "SpLoss1", "AcCost2", "SpLoss2", "Bc", "Bcm", "Bi", "Bim", "Ge",
    "sysCount", "sysTime", "sysCpuTime",
)  # fmt: skip

_UNITS = {"no": (0, ""), "msec": (1000000, "ms"), "usec": (1000, "us"), "nsec": (1, "ns")}


def wanted(config: Config) -> list[str]:
    """The events that the options ask for."""
    tool = config.tool
    chosen = ["Ir"]
    if tool.cache_sim:
        chosen += NAMES[1:9]
    if tool.simulate_wb and not tool.cacheuse:
        chosen += NAMES[9:12]
    if tool.branch_sim:
        chosen += NAMES[16:20]
    if tool.cacheuse:
        chosen += NAMES[12:16]
    if tool.collect_bus:
        chosen.append("Ge")
    if tool.collect_systime != "no":
        chosen += ["sysCount", "sysTime"]
    if tool.collect_systime == "nsec":
        chosen.append("sysCpuTime")
    return chosen


def long_names(config: Config) -> list[EventType]:
    """What is said about events whose name does not tell the unit."""
    mode = config.tool.collect_systime
    found: list[EventType] = []
    if mode == "no":
        return found
    from interpose.formats.callgrind import EventType

    found.append(EventType("sysTime", f"sysTime (elapsed {_UNITS[mode][1]})"))
    if mode == "nsec":
        found.append(EventType("sysCpuTime", "sysCpuTime (system cpu ns)"))
    return found


def client_options(config: Config) -> bytes:
    """For the client: a struct cg_options."""
    tool = config.tool
    chosen = wanted(config)
    options = ffi.new("struct cg_options *")
    for number, name in enumerate(NAMES):
        options.place[number] = chosen.index(name) if name in chosen else -1
    options.n_events = len(chosen)
    options.callers = tool.separate_callers
    options.recursions = tool.separate_recs
    options.jumps = tool.collect_jumps
    options.skip_direct_recursion = tool.skip_direct_rec
    options.caches = tool.cache_sim
    options.branches = tool.branch_sim
    options.write_back = tool.simulate_wb and not tool.cacheuse  # as Valgrind, which prefers one to another
    options.prefetch = tool.simulate_hwpref and not tool.cacheuse
    options.instrument = tool.instr_atstart
    options.collect = tool.collect_atstart
    options.systime = _UNITS[tool.collect_systime][0]
    options.dump_every = max(tool.dump_every_bb, 0)
    if tool.cache_sim:
        from .geometry import caches

        for place, cache in zip(("i1", "d1", "ll"), caches(config), strict=True):
            field = getattr(options, place)
            field.size, field.ways, field.line = cache
    return bytes(ffi.buffer(options))


def function_options(config: Config, name: str) -> bytes:
    """For the client, about one function: a struct cg_function_options."""
    from .functions import Patterns

    tool = config.tool
    options = ffi.new("struct cg_function_options *")
    options.callers, options.recursions = tool.separate_callers, tool.separate_recs
    for number, pattern in tool.separate_callers_of:
        if Patterns((pattern,)).hit(name):
            options.callers = min(number, MAX_CALLERS)
    for number, pattern in tool.separate_recs_of:
        if Patterns((pattern,)).hit(name):
            options.recursions = min(number, MAX_RECURSIONS)
    return bytes(ffi.buffer(options))


assert len(NAMES) == lib.CG_N_EVENTS and lib.CG_LEVELS == MAX_LEVELS
