"""What the translator packs of a block, the client and gdb's script unpack as it was."""

from __future__ import annotations

import ast
import ctypes
import itertools
import struct
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from interpose.jit._native import lib as native

from .clib import ROOT, build

POINT = struct.Struct("<HHBB")
"""struct ip_point (abi/meta.h)."""
Point = tuple[int, int, int, int]


@pytest.fixture(scope="module")
def lib(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    found = ctypes.CDLL(
        str(build(tmp_path_factory.mktemp("packed"), Path(__file__).with_name("packed_tables.c")))
    )
    found.pc_of.restype = ctypes.c_uint64
    return found


@pytest.fixture(scope="module")
def in_gdb() -> dict[str, Callable[..., object]]:
    """The script's functions that unpack: it imports what only gdb has."""
    tree = ast.parse((ROOT / "interpose/gdb/frames.py").read_text())
    wanted = [
        node
        for node in tree.body
        if (isinstance(node, ast.FunctionDef) and node.name in ("unpacked", "_guest_pc"))
        or (
            isinstance(node, ast.Assign)
            and ast.unparse(node).startswith(("(POINT_", "(PCS_", "POINT_", "PCS_"))
        )
    ]
    names: dict[str, Callable[..., object]] = {"struct": struct, "Iterator": Iterator}  # type: ignore[dict-item]
    exec(compile(ast.Module(wanted, []), "frames.py", "exec"), names)
    return names


points = st.lists(
    st.tuples(
        st.one_of(st.integers(0, 40), st.integers(0, 3000)),
        st.one_of(st.just(0), st.integers(0, 0xFFFF)),
        st.integers(0, 255),
        st.one_of(st.sampled_from([0, 1, 4, 5, 8, 16, 72]), st.integers(0, 255)),
    ),
    max_size=40,
).map(
    lambda raw: [
        (offset & 0xFFFF, *rest)
        for offset, (_, *rest) in zip(itertools.accumulate(r[0] for r in raw), raw, strict=True)
    ]
)


@given(points)
def test_points_come_back(
    lib: ctypes.CDLL, in_gdb: dict[str, Callable[..., object]], block: list[Point]
) -> None:
    block = sorted(block)
    data = b"".join(POINT.pack(*point) for point in block)
    packed = ctypes.create_string_buffer(native.IP_POINT_MOST * len(block) + 1)
    used = lib.pack_points(data, len(block), packed)
    assert used <= native.IP_POINT_MOST * len(block)
    out = ctypes.create_string_buffer(len(data) + 1)
    assert lib.unpack_points(packed, len(block), out) == used
    assert out.raw[: len(data)] == data
    shown = list(in_gdb["unpacked"](packed.raw, len(block)))  # type: ignore[call-overload]
    assert shown == [(offset, insn, spilled) for offset, spilled, insn, _ in block]


def test_most_points_take_two_bytes(lib: ctypes.CDLL) -> None:
    flags = (native.IP_PF_BOUNDARY | native.IP_PF_GUEST, native.IP_PF_SHADOW, 0)
    data = b"".join(POINT.pack(9 * i, 0, i // 3, flags[i % 3]) for i in range(30))
    packed = ctypes.create_string_buffer(native.IP_POINT_MOST * 30)
    assert lib.pack_points(data, 30, packed) == 60


@given(
    st.integers(0, 2**47),
    st.lists(st.one_of(st.integers(1, 15), st.integers(-(2**31), 2**31 - 1)), max_size=40),
)
@example(0x1000, [native.IP_PCS_FAR - 1, native.IP_PCS_FAR, native.IP_PCS_FAR + 1, -1])
def test_pcs_come_back(
    lib: ctypes.CDLL, in_gdb: dict[str, Callable[..., object]], first: int, steps: list[int]
) -> None:
    pcs = [pc & 2**64 - 1 for pc in itertools.accumulate(steps, initial=first)]
    packed = ctypes.create_string_buffer(native.IP_PCS_HEAD + native.IP_PCS_MOST * len(pcs))
    used = lib.pack_pcs((ctypes.c_uint64 * len(pcs))(*pcs), len(pcs), packed)
    near = sum(0 <= step < native.IP_PCS_FAR for step in steps)
    assert used == native.IP_PCS_HEAD + near + native.IP_PCS_MOST * (len(steps) - near)
    for n, pc in enumerate(pcs):
        assert lib.pc_of(packed, n) == pc
        assert in_gdb["_guest_pc"](packed.raw, n) & 2**64 - 1 == pc  # type: ignore[operator]
