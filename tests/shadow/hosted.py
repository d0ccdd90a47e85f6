"""Builds interpose/shadow and interpose/heap hosted, as a shared library, for their tests."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cffi
import pytest

ROOT = Path(__file__).resolve().parents[2]
INTERPOSE = ROOT / "interpose"
HERE = Path(__file__).resolve().parent

FLAGS = [
    "-std=gnu17", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-fPIC", "-shared", "-fno-builtin",
    "-fno-tree-loop-distribute-patterns", "-Wl,-Bsymbolic",
]  # fmt: skip

FUNCTIONS = """
void rt_shadow_mapped(uint64_t, uint64_t, int);
void rt_shadow_unmapped(uint64_t, uint64_t);
void rt_shadow_moved(uint64_t, uint64_t, uint64_t);
void rt_shadow_set(uint64_t, uint64_t, int);
_Bool rt_shadow_stack(uint64_t, uint64_t, uint64_t);
_Bool rt_shadow_unaddr(struct tstate *, uint64_t, uint64_t, uint64_t *);
_Bool rt_shadow_undef(uint64_t, uint64_t, uint64_t *);
_Bool rt_shadow_undef_only(struct tstate *, uint64_t, uint64_t, uint64_t *);
void sh_block_allocated(uint64_t, uint64_t, _Bool);
void sh_block_released(uint64_t, uint64_t, bool);
_Bool t_released_keeps_xmm0(uint64_t, uint64_t);
_Bool sh_is_large(uint64_t);
void sh_idle(uint64_t, uint64_t);
void heap_hook_filled(uint64_t, uint64_t, uint64_t);
void heap_hook_copied(struct tstate *, uint64_t, uint64_t, uint64_t);
void origin_set_tags(uint64_t, uint64_t, uint32_t, const uint32_t *);
void origin_put_tags(uint64_t, uint32_t, const uint32_t *, const uint32_t *);
void origin_get_tags(uint64_t, uint32_t, uint32_t *);
void origin_forget_tags(uint64_t, uint64_t);
struct ip_origins *origin_new_near(void);
void origin_end_near(struct ip_origins *);
uint32_t origin_of_memory(struct tstate *, uint64_t);
extern _Bool rt_alone;
bool rt_load_slow(struct tstate *);
bool rt_store_slow(struct tstate *);
void rt_stack_changed(struct tstate *, uint64_t, uint64_t);
void rt_stack_register(uint64_t, uint64_t);
uint32_t rt_stack_trace(struct tstate *, uint64_t *, uint32_t);
_Bool rt_stack_is(struct tstate *, const uint64_t *, uint32_t, uint32_t);
uint32_t heap_ctx_now(struct tstate *);
uint32_t heap_ctx(const uint64_t *, uint32_t);
uint64_t rt_heap_request(struct tstate *, uint64_t, const uint64_t *);
void rt_heap_malloclike(struct tstate *, uint64_t, uint64_t, uint64_t, _Bool);
_Bool rt_heap_freelike(struct tstate *, uint64_t, uint64_t);
_Bool rt_heap_resize(struct tstate *, uint64_t, uint64_t, uint64_t, uint64_t);
void rt_error_disable(struct tstate *, long);
uint32_t heap_describe(uint64_t);
extern struct ip_heap_table *heap_table;
struct ip_heap_block *t_block(uint32_t);
bool heap_block_at(uint64_t, uint64_t *, uint64_t *);
struct tstate *t_init(uint64_t);
struct ip_chan *t_chan(void);
void t_call(struct tstate *, uint64_t);
uint64_t t_map_at(uint64_t, uint64_t);
uint64_t rt_map_client(uint64_t, uint64_t, int);
extern struct ip_error t_errors[4096];
extern uint32_t t_n_errors;
extern uint64_t t_maps_fail;
extern char t_message[256];
"""

TRACK_FUNCTIONS = """
void rt_track_insn(struct tstate *, const struct ip_insn *);
int ip_decode(const uint8_t *, size_t, uint64_t, struct ip_insn *);
const char *ip_mnem_name(unsigned);
extern uint64_t track_hosted_k[8], track_hosted_mmx[8];
extern unsigned track_hosted_top;
extern uint16_t track_hosted_exponents[8];
"""


_built: list[Any] = []
"""Once in a process: a second copy of the library would map the same addresses."""


def dirty(sh: Any, addr: int, size: int, kind: str = "Private_Dirty") -> int:
    """Bytes of pages that the V bytes of a range have of their own; ``Rss``: that they have at all."""
    lo, hi = addr + sh.lib.IP_V_CONST, addr + size + sh.lib.IP_V_CONST
    found, inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        word = line.split()
        if "-" in word[0] and not word[0].endswith(":"):
            start, end = (int(part, 16) for part in word[0].split("-"))
            inside = start < hi and end > lo
        elif inside and word[0] == f"{kind}:":
            found += int(word[1]) << 10
    return found


def own_part(sh: Any, blocks: list[int]) -> float:
    """Of the pages in which blocks have their first V bytes, how many are this process's alone."""
    own = 0
    with open("/proc/self/pagemap", "rb") as file:
        for p in blocks:
            file.seek((p + sh.lib.IP_V_CONST >> 12) * 8)
            own += int.from_bytes(file.read(8), "little") >> 61 == 0b100  # present, and of no file
    return own / len(blocks)


_most = [256 << 20]


def larger_than_ever() -> int:
    """Bytes of a block that makes the heap larger than it ever was in this process, by a quarter and more."""
    _most[0] = _most[0] * 13 // 10
    return _most[0]


@pytest.fixture(scope="session")
def build(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """ffi and lib of the hosted build, decoder included."""
    if not _built:
        _built.append(_build(tmp_path_factory.mktemp("shadow")))
    return _built[0]


def _build(out: Path) -> SimpleNamespace:
    subprocess.run([sys.executable, str(INTERPOSE / "jit/gen_x86_tables.py"), str(out)], check=True)
    # These need the system call table and the code cache.
    left_out = {
        "syscall_check.c",
        "syscall_uses.c",
        "ioctl_lists.c",
        "ioctl_planes.c",
        "ioctls.c",
        "syscall_sockets.c",
        "syscall_bpf.c",
        "syscall_parts.c",
        "aio.c",
        "io_uring.c",
        "requests.c",
        "fast.c",
        "slow_exits.c",
        "handler_vbits.c",
        "translate.c",
    }
    folders = ("shadow", "heap", "tools/memcheck/client")
    sources = sorted(str(p) for d in folders for p in (INTERPOSE / d).glob("*.c") if p.name not in left_out)
    sources.append(str(INTERPOSE / "runtime/core/errors.c"))
    includes = [f"-I{ROOT}/include", f"-I{INTERPOSE}", f"-I{out}"]
    objects = []
    for source in sources:  # as in the runtime: no vector instruction in it
        objects.append(str(out / (Path(source).stem + ".o")))
        flags = [*(f for f in FLAGS if f != "-shared"), "-mgeneral-regs-only", "-DTRACK_HOSTED"]
        subprocess.run(["gcc", *flags, *includes, "-c", source, "-o", objects[-1]], check=True)
    rest = [str(HERE / name) for name in ("hosted.c", "oracle.c", "oracle_run.S")]
    rest += [
        str(INTERPOSE / name)
        for name in (
            "runtime/base/uaccess.S",
            "runtime/base/cpu.c",
            "runtime/base/ownfiles.c",
            "jit/x86_decode.c",
        )
    ]
    library = out / "libshadow.so"
    subprocess.run(["gcc", *FLAGS, *includes, *objects, *rest, "-o", str(library)], check=True)
    ffi = cffi.FFI()
    names = (
        "x86_cpu",
        "space",
        "tstate",
        "exits",
        "meta",
        "attached",
        "channel",
        "errors",
        "x86_insn",
        "heap_abi",
    )
    for name in names:
        text = (INTERPOSE / "abi" / f"{name}.h").read_text()
        ffi.cdef(re.sub(r"(?m)^#(pragma|include|ifndef|endif|define \w+(_H\b| \(-)).*$", "", text))
    ffi.cdef(FUNCTIONS)
    if any(s.endswith("/track.c") for s in sources):
        ffi.cdef(TRACK_FUNCTIONS)
    return SimpleNamespace(ffi=ffi, lib=ffi.dlopen(str(library)))


@pytest.fixture
def sh(build: Any) -> Any:
    """The library with a fresh thread state on a stack of its own."""
    return make_shadow(build)


_next_stack = 0x3000_0000_000


def make_shadow(build: Any) -> Any:
    global _next_stack
    ffi, lib = build.ffi, build.lib
    flags = lib.IP_C_SHADOW | lib.IP_C_UNDEF | lib.IP_C_HEAP
    flags |= lib.IP_C_KEEP_FREE_STACK | lib.IP_C_KEEP_ALLOC_STACK
    ts = lib.t_init(flags)
    size = 1 << 20
    lo = lib.t_map_at(_next_stack, size)
    assert lo
    _next_stack += 2 * size
    lib.rt_shadow_mapped(lo, size, 0)
    sp = lo + size - 0x4000
    lib.rt_shadow_stack(lo, lo + size, sp)
    ts.gpr[lib.IP_RSP] = sp
    ts.pc = 0x401000 + _next_stack  # never an error or trace of another test

    def v(addr: int, n: int) -> bytes:
        return bytes(ffi.buffer(ffi.cast("char *", addr + lib.IP_V_CONST), n))

    def mem(addr: int, n: int) -> Any:
        return ffi.buffer(ffi.cast("char *", addr), n)

    def a(addr: int, n: int) -> str:
        at = [(lib.IP_A_BASE + (i >> 3), i & 7) for i in range(addr, addr + n)]
        return "".join(str(ffi.cast("unsigned char *", p)[0] >> bit & 1) for p, bit in at)

    def request(code: int, *args: int) -> int:
        return lib.rt_heap_request(ts, code, ffi.new("uint64_t[5]", list(args) + [0] * (5 - len(args))))

    def errors() -> list[Any]:
        found = [lib.t_errors[i] for i in range(lib.t_n_errors)]
        return found

    def new_map(n: int) -> int:
        return lib.rt_map_client(0, n, 3)

    first = ffi.new("uint64_t *")

    def first_unaddr(addr: int, n: int) -> int:
        return first[0] if lib.rt_shadow_unaddr(ts, addr, n, first) else 0

    def first_undef(addr: int, n: int) -> int:
        return first[0] if lib.rt_shadow_undef(addr, n, first) else 0

    def first_undef_only(addr: int, n: int) -> int:
        return first[0] if lib.rt_shadow_undef_only(ts, addr, n, first) else 0

    helpers: dict[str, Callable[..., Any]] = {
        "first_unaddr": first_unaddr, "first_undef": first_undef, "first_undef_only": first_undef_only,
        "v": v, "a": a, "mem": mem, "request": request, "errors": errors, "new_map": new_map,
    }  # fmt: skip
    return SimpleNamespace(ffi=ffi, lib=lib, ts=ts, stack=(lo, lo + size), **helpers)
