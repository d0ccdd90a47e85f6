"""What an object costs when it is mapped or goes does not depend on how many there are."""

from __future__ import annotations

import sys

from redir.known import KnownNames

from interpose.redir import CodeObject, RedirState
from interpose.zenc import encode

FUNCTIONS = ("strlen", "strchr", "memcpy")


def _object(at: int) -> CodeObject:
    start = 0x1000000 + 0x10000 * at
    symbols = [
        (f"function_{at}", 0x100, 8, True, False, True),
        ("pick", 0x200, 8, True, True, True),
        ("strlen", 0x300, 8, True, False, True),
    ]
    names = KnownNames(b"\0".join(name.encode() for name, *_ in symbols))
    text = [(start, start + 0x8000)]
    return CodeObject(f"lib{at}.so", text, symbols, f"lib{at}.so", start, names)


def _wrappers() -> CodeObject:
    names = [f"_vgr00000ZU_libcZdsoZa_{encode(function)}" for function in FUNCTIONS]
    names += [f"_vgr00000ZZ_lib1Za_{encode(function)}" for function in ("str*", "mem*")]
    symbols = [(name, 0x10 * at, 8, True, False, True) for at, name in enumerate(names)]
    return CodeObject("wrappers", [(0x10000, 0x20000)], symbols, "wrappers", 0x10000)


def _calls(count: int) -> int:
    """Calls that it takes to map an object beside ``count`` others, see it choose a function, unmap it."""
    state = RedirState(tells_additions=False)
    state.add_object(_wrappers())
    for at in range(count):
        obj = _object(at)
        state.add_object(obj)
        state.add_ifunc_target(obj.load_bias + 0x200, obj.load_bias + 0x100)
    # The name, and so what matches it, is the same for each count.
    start = 0x1000000 + 0x10000 * 1999
    calls = 0

    def count_call(frame: object, event: str, argument: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(count_call)
    try:
        state.add_object(_object(1999))
        state.add_ifunc_target(start + 0x200, start + 0x100)
        state.remove_range(start, start + 0x8000)
    finally:
        sys.setprofile(None)
    assert len(state.objects) == count + 1
    assert start + 0x300 not in state.active
    return calls


def test_an_object_costs_the_same_among_a_thousand():
    few, many = _calls(20), _calls(1000)
    assert many <= few + few // 10, "something looks at each object"


def test_objects_come_and_go_in_the_middle():
    state = RedirState(tells_additions=False)
    state.add_object(_wrappers())
    objects = [_object(at) for at in range(0, 40, 2)] + [_object(at) for at in range(1, 40, 2)]
    for obj in objects:
        state.add_object(obj)
    bound = {binding.soname for binding in state.active.values()}
    assert bound == {f"lib{at}.so" for at in (1, *range(10, 20))}
    for obj in objects[3:30]:
        state.add_ifunc_target(obj.load_bias + 0x200, obj.load_bias + 0x100)
        assert state.ifunc_targets(obj.load_bias + 0x200) == (obj.load_bias + 0x100,)
        assert state.object_at(obj.load_bias) is obj
        assert state.object_at(obj.load_bias + 0x8000) is None
    # One goes whole with a part of its text, two by one event, in the order of their mapping.
    state.remove_range(0x1000000 + 0x10000 * 14 + 0x7FFF, 0x1000000 + 0x10000 * 15 + 1)
    gone = [objects[7], objects[27]]
    assert [obj.soname for obj in gone] == ["lib14.so", "lib15.so"]
    assert list(state.objects)[1:] == [obj for obj in objects if obj not in gone]
    assert all(state.ifunc_targets(obj.load_bias + 0x200) == () for obj in gone)
    left = {binding.soname for binding in state.active.values()}
    assert left == bound - {"lib14.so", "lib15.so"}
    for obj in objects:
        if obj not in gone:
            state.remove_object(obj)
    assert not state.active
    assert len(state.objects) == 1
