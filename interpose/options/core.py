"""The core's option table (docs/spec/options.md sections 2 to 6), and its options of our own."""

from __future__ import annotations

import os

from interpose.errors import OptionError
from interpose.options.spec import (
    IGNORED,
    BadValue,
    Bits,
    Choice,
    CommaList,
    FileName,
    Flag,
    Integer,
    Members,
    Parsed,
    PowerOfTwo,
    Repeated,
    RepeatedList,
    Table,
    Text,
    YesNo,
    parse_decimal,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, Literal

DEFAULT_LOG_PORT = 1500

_REGISTERS = ("sp-at-mem-access", "unwindregs-at-mem-access", "allregs-at-mem-access", "allregs-at-each-insn")


def parse_socket(text: str) -> tuple[str, int]:
    """``ip[:port]`` with a dotted IPv4 address."""
    host, colon, port_text = text.partition(":")
    parts = host.split(".")
    port = parse_decimal(port_text) if colon else DEFAULT_LOG_PORT
    if (
        len(parts) != 4
        or not all(part.isdigit() and int(part) < 256 for part in parts)
        or not 0 < (port or 0) < 65536
    ):
        raise BadValue(f"'{text}' is no ip:port, such as 127.0.0.1:{DEFAULT_LOG_PORT}")
    assert port is not None
    return host, port


def parse_markers(text: str) -> tuple[str, str] | None:
    """``begin,end`` lines, either of which may be missing, or ``none``; a further comma ends the end."""
    begin, end, *_ = [*text.split(","), ""]
    return None if text == "none" else (begin, end)


DELAY_PLACES = (
    *("request", "answered", "fork", "forking", "born", "clone", "thread", "exec", "final", "exit"),
    *("translated", "event", "reply", "hangup", "forked", "send", "hold", "fault"),
)
"""The names of ``enum ip_delay`` (abi/channel.h)."""


def parse_delays(text: str) -> tuple[tuple[str, int], ...]:
    """``place=milliseconds`` and ``seed=number``, parted by commas."""
    found = []
    for part in text.split(","):
        name, _, number = part.partition("=")
        value = parse_decimal(number)
        if value is None or not 0 <= value < 1 << 31 or name not in ("seed", *DELAY_PLACES):
            raise BadValue(f"'{part}' is neither seed=NUMBER nor PLACE=MILLISECONDS")
        found.append((name, value))
    return tuple(found)


def check_text_symbol(text: str) -> None:
    """``:soname-pattern:function-pattern``; the first character is the separator, whatever it is.

    It may be in the function's pattern, as in C++ names.
    """
    parts = text[1:].split(text[0], 1) if text else []
    if len(parts) != 2 or not all(parts):
        raise BadValue("Invalid --require-text-symbol= specification.")


def parse_directory(text: str) -> str | None:
    """A path, from the folder in which the run begins; none if it is empty."""
    try:
        return os.path.abspath(text) if text else None
    except OSError as error:
        raise BadValue(f"The current folder: {error.strerror}") from None


def parse_host_stack(text: str) -> int:
    """Two pages to ten megabytes."""
    value = parse_decimal(text)
    if value is None:
        raise BadValue(f"Invalid integer value '{text}'")
    if not 2 * 4096 <= value <= 10 << 20:
        raise BadValue("'--valgrind-stacksize' argument must be between 8192 and 10485760")
    return value


def parse_minimum_address(text: str) -> int:
    """A page-aligned ``0x…`` address from 0x1000 to 4 GiB."""
    digits = text[2:].lower()
    if text[:2] != "0x" or not digits or set(digits) - set("0123456789abcdef"):
        raise BadValue("Invalid address")
    value = int(digits, 16)
    if not 0x1000 <= value <= 0xFFFFFFFF or value % 4096:
        raise BadValue("Invalid address: it must be a multiple of 0x1000 from 0x1000 to 0xFFFFF000.")
    return value


def _removed_precise_exceptions(text: str) -> None:
    if text == "no":
        raise BadValue(
            "--vex-iropt-precise-memory-exns is obsolete",
            "Use --vex-iropt-register-updates=unwindregs-at-mem-access instead",
        )
    raise BadValue(
        "--vex-iropt-precise-memory-exns is obsolete",
        "Use --vex-iropt-register-updates=allregs-at-mem-access instead",
        " (or --vex-iropt-register-updates=allregs-at-each-insn)",
    )


def _resync_filter(text: str) -> str:
    if text == "no":
        return text
    raise BadValue("--resync-filter= is only available on MacOS X.")


def _asks(what: str) -> Callable[[dict[str, Any]], None]:
    return lambda values: values.__setitem__("show", what)


def _louder(values: dict[str, Any]) -> None:
    values["verbosity"] += 1


def _quieter(values: dict[str, Any]) -> None:
    values["verbosity"] -= 1


def _debug_log(values: dict[str, Any]) -> None:
    values["debug_log"] += 1


def _show_error_list(values: dict[str, Any]) -> None:
    values["show_error_list"] = "yes"


_NUMBER = "<number>"
_MANY = 999999999

SHOWING = ("-h", "--help", "--help-debug", "--help-dyn-options", "--version")
"""What shows something in place of a run, whatever else is given."""

_LEAST = -(1 << 31)
"""Where any number is taken that C's int holds, as Valgrind does."""


class CoreOptions(Table):
    """Options of the core."""

    title = "basic user options for all tools"

    # Which destination log, XML and JSON take: the last one given (docs/spec/output.md section 10).
    log_kind: Literal["fd", "file", "socket"]
    xml_kind: Literal["fd", "file", "socket"]
    json_kind: Literal["fd", "file", "socket"]
    # Set when something is to be shown instead of running a program.
    show: Literal["user", "debug", "dynamic", "version", "include", "gdb", "dap"] | None

    tool: str = Text("use the tool named <name>", "memcheck", metavar="<name>", group="tool selection")
    engine: str = Choice(
        "jit: a synthetic CPU, for tools; native: the real CPU, for wrappers alone", ("jit", "native"), "jit"
    )
    attach: int = Integer(
        "put wrappers into effect in this process, which runs", 0, 1, 1 << 22, metavar="<pid>", shown="none"
    )
    detach: int = Integer("take them out of it again", 0, 1, 1 << 22, metavar="<pid>", shown="none")
    wrappers: tuple[str, ...] = CommaList(
        "libraries of wrappers that the native engine loads into the program", metavar="<lib1>,<lib2>,…"
    )

    # ---- docs/spec/options.md section 2 ------------------------------------------------------------------
    help: None = Flag("show this message", _asks("user"), name="-h", aliases=("--help",), group=title)
    help_debug: None = Flag("show this message, and the debugging options", _asks("debug"))
    help_dyn_options: None = Flag(
        "show the options that can be changed while the program runs", _asks("dynamic")
    )
    version: None = Flag("show the version", _asks("version"))
    include_dir: None = Flag("show the folder of the headers for client code", _asks("include"))
    gdb_script: None = Flag("show the file that gdb -p PID -x FILE needs for its stack traces", _asks("gdb"))
    dap: None = Flag(
        "be a server of the Debug Adapter Protocol, for editors, on stdin and stdout", _asks("dap")
    )
    mpi_wrappers: str | None = Text(
        "show the library to preload into MPI programs, for that compiler's MPI; built when first asked for",
        metavar="<mpicc>",
        alone="mpicc",
        command_line_only=True,
    )
    quiet: None = Flag("print error messages only", _quieter, name="-q", aliases=("--quiet",), dynamic=True)
    verbosity: int = Flag(
        "print more: what is read and done; may be repeated",
        _louder,
        1,
        name="-v",
        aliases=("--verbose",),
        dynamic=True,
    )
    trace_children: bool = YesNo("keep control of child processes over execve", dynamic=True)
    trace_children_skip: tuple[str, ...] = CommaList(
        "executables that --trace-children=yes does not follow", metavar="patt1,patt2,…"
    )
    trace_children_skip_by_arg: tuple[str, ...] = CommaList(
        "the same, but the patterns are compared with each argument of the child", metavar="patt1,patt2,…"
    )
    child_silent_after_fork: bool = YesNo("no output from a forked child until it calls execve", dynamic=True)
    vgdb: str = Choice(
        "gdb server; full keeps all flags exact at each instruction, too",
        ("no", "yes", "full"),
        "yes",
        dynamic=True,
        list_words=True,
    )
    vgdb_error: int = Integer(
        "stop for gdb after this many errors; 0 stops before the first instruction, less than 0 never",
        _MANY,
        _LEAST,
        (1 << 31) - 1,
        dynamic=True,
    )
    vgdb_stop_at: frozenset[str] = Members(
        "stop for gdb at these events: startup exit abexit valgrindabexit",
        ("startup", "exit", "abexit", "valgrindabexit"),
        (),
        metavar="event1,event2,…",
        dynamic=True,
    )
    track_fds: str = Choice(
        "report open and misused file descriptors; all: inherited ones too; bad: misuse only",
        ("no", "yes", "all", "bad"),
        "no",
    )
    modify_fds: str = Choice(
        "give new file descriptors high numbers not used before", ("no", "yes", "high"), "no"
    )
    time_stamp: bool = YesNo("add the elapsed time to each line", dynamic=True)
    log_fd: int = Integer(
        "write the log to this file descriptor; -1 drops it", 2, _LEAST, 1 << 30, shown="2=stderr"
    )
    log_file: str | None = FileName("write the log to <file>")
    log_socket: tuple[str, int] | None = Parsed(
        "write the log to a listener", parse_socket, metavar="ipaddr:port"
    )
    enable_debuginfod: bool = YesNo("ask the servers in DEBUGINFOD_URLS for debug files", True)

    # ---- section 3 -----------------------------------------------------------------------------
    xml: bool = YesNo("write the report in XML", group="user options for tools that report errors")
    xml_fd: int = Integer(
        "write the XML to this file descriptor, which the program does not get", -1, _LEAST, 1 << 30, shown=""
    )
    xml_file: str | None = FileName("write the XML to <file>")
    xml_socket: tuple[str, int] | None = Parsed(
        "write the XML to a listener", parse_socket, metavar="ipaddr:port"
    )
    xml_user_comment: str | None = Text("copied into the XML as it stands")
    xml_protocol: int = Integer("version of the XML: 6 has summaries, 4 is what old readers know", 6, 4, 6)
    json_fd: int = Integer(
        "write the report in JSON Lines to this file descriptor, which the program does not get",
        -1,
        -1,
        1 << 30,
        shown="",
    )
    json_file: str | None = FileName("write the report in JSON Lines to <file>")
    json_socket: tuple[str, int] | None = Parsed(
        "write the report in JSON Lines to a listener", parse_socket, metavar="ipaddr:port"
    )
    sarif_file: str | None = FileName("write the report in SARIF, for code hosts, to <file> at the end")
    html_file: str | None = FileName("write the report as a page with source to <file> at the end")
    demangle: bool = YesNo("print C++, Rust and D names demangled", True)
    num_callers: int = Integer("depth of stack traces", 12, 1, 500)
    error_limit: bool = YesNo("stop showing errors after 1,000 different or 10,000,000 in all", True)
    exit_on_first_error: bool = YesNo("end the run at the first error shown; needs --error-exitcode")
    error_exitcode: int = Integer(
        "exit code of a run with errors", 0, -(1 << 31), (1 << 31) - 1, shown="0=disable"
    )
    error_markers: tuple[str, str] | None = Parsed(
        "lines before and after each error in the text report",
        parse_markers,
        shown="none",
        metavar="<begin>,<end>",
        dynamic=True,
    )
    show_error_list: str = Choice(
        "list errors and used suppressions at exit; all: suppressed errors too",
        ("no", "yes", "all"),
        "no",
        dynamic=True,
    )
    show_error_list_yes: None = Flag(
        "the same as --show-error-list=yes", _show_error_list, name="-s", dynamic=True
    )
    keep_debuginfo: bool = YesNo("keep the symbols of unloaded code")
    show_below_main: bool = YesNo("show the frames below main", dynamic=True)
    default_suppressions: bool = YesNo("load the installed suppressions", True)
    suppressions: tuple[str, ...] = Repeated(
        "suppress the errors described in <file>; may be repeated",
        metavar="<file>",
        dynamic=True,
    )
    gen_suppressions: str = Choice(
        "print suppressions for the errors; yes asks at each",
        ("no", "yes", "all"),
        "no",
        dynamic=True,
        list_words=True,
    )
    input_fd: int = Integer("file descriptor that answers are read from", 0, _LEAST, 1 << 30, shown="0=stdin")
    dsymutil: bool = YesNo("macOS only", True, status=IGNORED)
    max_stackframe: int = Integer("a larger change of the stack pointer is a switch of stacks", 2000000)
    main_stacksize: int = Integer(
        "stack of the main thread in bytes; without it, it grows as ulimit -s allows",
        0,
        shown="max(current ulimit,1MB)",
    )

    # ---- section 4 -----------------------------------------------------------------------------
    alignment: int = PowerOfTwo(
        "least alignment of heap blocks", 16, 16, 4096, group="user options for tools that replace malloc"
    )
    redzone_size: int = Integer("guard bytes on each side of heap blocks", 16, 0, 4096)
    realloc_zero_bytes_frees: bool = YesNo("realloc(p,0) frees and answers NULL", True)
    xtree_memory: str = Choice("heap profile in callgrind format at exit", ("none", "allocs", "full"), "none")
    xtree_memory_file: str = FileName("its file", "xtmemory.kcg.%p")
    xtree_compress_strings: bool = YesNo("compress names in xtree files", True)
    trace_malloc: bool = YesNo("show each call of the malloc family")

    # ---- section 5 -----------------------------------------------------------------------------
    fullpath_after: tuple[str, ...] = Repeated(
        "show the folders of sources, without what precedes and includes "
        "<text>; empty: the full path; may be repeated",
        group="uncommon user options for all tools",
    )
    extra_debuginfo_path: str | None = Parsed("further root of debug files", parse_directory, metavar="<dir>")
    debuginfo_server: str | None = Text("debug information server", metavar="ipaddr:port", status=IGNORED)
    allow_mismatched_debuginfo: bool = YesNo("accept debug files that do not match their object")
    smc_check: str = Choice(
        "where code that changes itself is expected",
        ("none", "stack", "all", "all-non-file"),
        "all-non-file",
    )
    read_inline_info: bool = YesNo(
        "show inlined calls in stack traces", False, shown="yes for memcheck, else no", metavar="yes|no"
    )
    read_var_info: bool = YesNo("describe addresses by the variables there", metavar="yes|no")
    vgdb_poll: int = Integer(
        "basic blocks between looks for gdb; not needed here", 5000, _LEAST, dynamic=True, status=IGNORED
    )
    vgdb_shadow_registers: bool = YesNo("show gdb the shadow registers")
    vgdb_prefix: str | None = Text(
        "start of the names of the gdb FIFOs",
        metavar="<prefix>",
        shown="$TMPDIR/vgdb-pipe or /tmp/vgdb-pipe",
    )
    run_libc_freeres: bool = YesNo("free the memory of glibc at exit", True)
    run_cxx_freeres: bool = YesNo("free the memory of libstdc++ at exit", True)
    sim_hints: frozenset[str] = Members(
        "lax-ioctls: arguments of ioctls that are not known are not checked; without effect: "
        "lax-doors fuse-compatible enable-outer no-inner-prefix no-nptl-pthread-stackcache fallback-llsc",
        (
            "lax-ioctls",
            "lax-doors",
            "fuse-compatible",
            "enable-outer",
            "no-inner-prefix",
            "no-nptl-pthread-stackcache",
            "fallback-llsc",
        ),
        (),
        allow_all=False,
        metavar="hint1,hint2,…",
    )
    scheduling_quantum: int = Integer(
        "time slice in blocks; threads run in parallel here", 100000, 1, 1 << 31, dynamic=True, status=IGNORED
    )
    fair_sched: str = Choice(
        "schedule threads fairly; threads run in parallel here", ("no", "yes", "try"), "no", status=IGNORED
    )
    kernel_variant: frozenset[str] = Members(
        "variants of the kernel: bproc android-no-hw-tls android-gpu-sgx5xx android-gpu-adreno3xx",
        ("bproc", "android-no-hw-tls", "android-gpu-sgx5xx", "android-gpu-adreno3xx"),
        (),
        allow_all=False,
        metavar="variant1,variant2,…",
        status=IGNORED,
    )
    merge_recursive_frames: int = Integer(
        "collapse cycles of at most this many frames in stack traces", 0, 0, 500, dynamic=True
    )
    num_transtab_sectors: int = Integer(
        "size of the translation cache; ours is sized by need", 32, 2, 48, status=IGNORED
    )
    avg_transtab_entry_size: int = Integer(
        "average size of a translation", 0, 50, 5000, shown="0", status=IGNORED
    )
    aspace_minaddr: int | None = Parsed(
        "lowest address of mappings", parse_minimum_address, shown="guessed", metavar="0xPP", status=IGNORED
    )
    valgrind_stacksize: int = Parsed(
        "stack of the runtime for each thread; ours is sized by need",
        parse_host_stack,
        1048576,
        metavar=_NUMBER,
        status=IGNORED,
    )
    show_emwarns: bool = YesNo(
        "warn of limits of the emulation; there is none of arithmetic here", status=IGNORED
    )
    require_text_symbol: tuple[str, ...] = Repeated(
        "end the run if a matching object lacks the symbol; may be repeated",
        check=check_text_symbol,
        metavar=":soname:function",
    )
    soname_synonyms: str = Text(
        "further sonames for replacements, such as somalloc=NONE",
        "",
        metavar="syn1=pattern1,…",
    )
    sigill_diagnostics: bool = YesNo("say which instruction was illegal", True)
    max_threads: int = Integer("size of the table of threads; ours grows", 500, 1, 1 << 20, status=IGNORED)
    max_guard_pages: int = Integer("guard regions", 500, 0, 1 << 20, status=IGNORED)
    unw_stack_scan_thresh: int = Integer("other architectures only", 0, 0, 100, status=IGNORED)
    unw_stack_scan_frames: int = Integer("other architectures only", 5, 0, 32, status=IGNORED)
    resync_filter: str | None = Parsed("macOS only", _resync_filter, shown="no", metavar="no", status=IGNORED)

    hooks: tuple[str, ...] = RepeatedList(
        "functions in Python that stand for the program's (docs/hooks.md); may be repeated",
        metavar="<file.py>,...",
        command_line_only=True,
    )

    # ---- section 6 -----------------------------------------------------------------------------
    debug_log: int = Flag(
        "log of our own doings: requests of the program's runtime; twice: all that Python answers",
        _debug_log,
        0,
        name="-d",
        dynamic=True,
        group="debugging options for all tools",
    )
    stats: bool = YesNo("statistics at exit", dynamic=True)
    sanity_level: int = Integer("amount of self-checks", 1, status=IGNORED)
    trace_flags: tuple[bool, ...] = Bits(
        "print the stages of translation: disassembled, optimised, instrumented, "
        "cleaned up, allocated, emitted, and two unused",
        dynamic=True,
    )
    profile_flags: tuple[bool, ...] = Bits(
        "profile blocks; runs of blocks are not counted here, see --tool=callgrind",
        dynamic=True,
        status=IGNORED,
    )
    profile_interval: int = Integer(
        "profile every so many event checks; there are none here", 0, status=IGNORED
    )
    trace_notbelow: int = Integer("print stages from this block on", _MANY, dynamic=True)
    trace_notabove: int = Integer("print stages up to this block", 0, dynamic=True)
    trace_syscalls: bool = YesNo("show system calls, and what they answer", dynamic=True)
    trace_signals: bool = YesNo("show the handling of signals", dynamic=True)
    trace_symtab: bool = YesNo("show the reading of symbols", dynamic=True)
    trace_symtab_patt: str = Text("only of objects whose name matches", "*", metavar="<patt>")
    trace_cfi: bool = YesNo("show the reading of call-frame information", dynamic=True, status=IGNORED)
    debug_dump: str | None = Choice(
        "print debug information",
        ("syms", "line", "frames"),
        "",
        dynamic=True,
        status=IGNORED,
        list_words=True,
    )
    trace_redir: bool = YesNo("show the redirections after every change of code", dynamic=True)
    trace_sched: bool = YesNo("show threads come and go", dynamic=True)
    profile_heap: bool = YesNo("profile another implementation's own heap", status=IGNORED)
    core_redzone_size: int = Integer(
        "guard bytes of another implementation's own heap", 4, 0, 4096, status=IGNORED
    )
    wait_for_gdb: bool = YesNo(
        "wait for 8 seconds before the runtime starts, for a debugger of it", metavar="yes|no"
    )
    sym_offsets: bool = YesNo("print names as name+offset", dynamic=True, metavar="yes|no")
    progress_interval: int = Integer(
        "seconds of CPU time between lines of progress", 0, 0, 3600, dynamic=True
    )
    command_line_only: bool = YesNo(
        "read no options from files and environment (on the command line only)", command_line_only=True
    )
    dump_error: int = Integer("show the code of the n-th error", 0, _LEAST, status=IGNORED)
    launched_with_multi: bool = YesNo("used by gdb front ends", status=IGNORED, alone="yes")
    vex_iropt_verbosity: int = Integer(
        "inside of another implementation",
        0,
        0,
        10,
        dynamic=True,
        status=IGNORED,
        group="accepted options of the translator of another implementation",
    )
    vex_iropt_level: int = Integer(
        "inside of another implementation; see --optimise", 2, 0, 2, status=IGNORED
    )
    vex_iropt_unroll_thresh: int = Integer("inside of another implementation", 120, 0, 400, status=IGNORED)
    vex_iropt_fold_expr: bool = YesNo(
        "inside of another implementation", True, dynamic=True, status=IGNORED, metavar="no|yes"
    )
    vex_guest_max_insns: int = Integer("inside of another implementation", 50, 1, 100, status=IGNORED)
    vex_guest_chase: bool = YesNo("inside of another implementation", True, status=IGNORED, metavar="no|yes")
    vex_iropt_register_updates: str = Choice(
        "what the handler of a fault finds: with allregs-… also flags that are about to be overwritten; "
        "all other registers are always exact",
        _REGISTERS,
        "unwindregs-at-mem-access",
        aliases=("--px-default",),
        metavar="mode",
    )
    px_file_backed: str = Choice(
        "the same; either makes all code exact", _REGISTERS, "unwindregs-at-mem-access", metavar="mode"
    )
    vex_regalloc_version: int = Integer("inside of another implementation", 3, 2, 3, status=IGNORED)
    vex_iropt_precise_memory_exns: None = Parsed(
        "removed; is an error", _removed_precise_exceptions, shown="", status=IGNORED
    )

    # ---- our own -------------------------------------------------------------------------------
    cache: str = Choice(
        "use and add to what other runs have found out (docs/cache.md); or print it, or remove it",
        ("yes", "no", "read", "show", "clear"),
        "yes",
        command_line_values=("show", "clear"),
        group="the cache",
    )
    cache_size: int = Integer(
        "megabytes of the cache, beyond which what was not used for long goes", 1024, 1, 1 << 20
    )

    # ---- stages of a translation (docs/translation.md), and our own -----------------------------
    stop_after: int = Integer(
        "run this many basic blocks, then the rest on the real CPU; 0 = never",
        0,
        0,
        1 << 62,
        group="debugging options of the translator",
    )
    single_step: bool = YesNo("each instruction is a basic block")
    optimise: bool = YesNo("improve the code before instrumentation", True, metavar="no|yes")
    instrument: bool = YesNo("let the tool add its code", True, metavar="no|yes")
    cleanup: bool = YesNo("remove checks that cannot matter after instrumentation", True, metavar="no|yes")
    chaining: bool = YesNo("let blocks jump to each other directly", True, metavar="no|yes")
    evict: int = Integer("drop translations at random, about every Nth exit (for tests)", 0, 0)
    random_registers: int = Integer(
        "choose registers for temporaries at random from this seed, 0: the cheapest (for tests)", 0, 0
    )
    delays: tuple[tuple[str, int], ...] = Parsed(
        "let both processes stand still, at named places or at random from a seed (for tests)",
        parse_delays,
        (),
        shown="none",
        metavar="seed=<number>|<place>=<ms>,...",
    )
    tiny_cache: bool = YesNo("use a code cache so small that it is flushed often (for tests)")
    far_images: bool = YesNo("place images beyond the low 2 GiB (for tests)")
    fsgsbase: bool = YesNo("let translations use wrgsbase where the kernel permits it (for tests)", True)
    perf_map: bool = YesNo("write /tmp/perf-PID.map at the end, so that perf names translated functions")
    vdso: bool = YesNo("give the program the kernel's vDSO, under tools without shadow memory", True)
    force_tracking: bool = YesNo("use the tracking translation always (for tests)")

    def written_late(self) -> list[tuple[str, str]]:
        is_written = self.xtree_memory != "none"
        return [("--xtree-memory-file", self.xtree_memory_file)] if is_written else []

    @classmethod
    def finish(cls, values: dict[str, Any], core: dict[str, Any], given: dict[str, str]) -> None:
        """Rules between core options."""
        values.setdefault("show", None)
        for kind in ("log", "xml", "json"):
            chosen = [name for name in given if name in (f"{kind}_fd", f"{kind}_file", f"{kind}_socket")]
            values[f"{kind}_kind"] = chosen[-1].removeprefix(f"{kind}_") if chosen else "fd"
        if values["exit_on_first_error"] and values["error_exitcode"] == 0:
            raise OptionError.bad(
                "--exit-on-first-error=yes",
                "You must define a non nul exit error code, with --error-exitcode=...",
            )
        if values["wrappers"] and values["engine"] != "native" and not (values["attach"] or values["detach"]):
            raise OptionError.bad(
                given["wrappers"],
                "--engine=native and --attach load wrappers; otherwise, LD_PRELOAD does (docs/wrapping.md)",
            )
        if values["verbosity"] < 1 and "sigill_diagnostics" not in given:
            values["sigill_diagnostics"] = False
        if values["verbosity"] >= 2 and "show_error_list" not in given:
            values["show_error_list"] = "yes"
        if values["xml"]:
            cls._finish_xml(values)

    @staticmethod
    def _finish_xml(values: dict[str, Any]) -> None:
        if values["xml_kind"] == "fd" and values["xml_fd"] < 0:
            raise OptionError.bad(
                "--xml=yes, but no XML destination specified",
                "--xml=yes has been specified, but there is no XML output",
                "destination.  You must specify an XML output destination",
                "using --xml-fd, --xml-file or --xml-socket.",
            )
        if values["gen_suppressions"] == "yes":
            raise OptionError.bad(
                "--xml=yes together with --gen-suppressions=yes",
                "When --xml=yes is specified, --gen-suppressions=no",
                "or --gen-suppressions=all is allowed, but not --gen-suppressions=yes.",
            )
        if values["dump_error"]:
            raise OptionError.bad("--xml=yes", "Cannot be used together with --dump-error")
        values["error_limit"] = False
        if values["verbosity"] >= 1:
            values["show_error_list"] = "yes"
