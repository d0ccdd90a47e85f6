"""Rules that come in families look for a family's last part once in a program's names."""

from __future__ import annotations

from interpose.redir import CodeObject, RedirState
from interpose.zenc import encode

FAMILIES = ("ss", "avx", "evex")
FUNCTIONS = ("strlen", "strchr", "memcpy", "memcpy_chk")


def _stubs() -> CodeObject:
    names = [
        f"_vgr00000ZZ_NONE_{encode(f'__{function}_{family}*')}"
        for function in FUNCTIONS
        for family in FAMILIES
    ]
    symbols = [(name, 0x10 * at, 8, True, False, True) for at, name in enumerate(names)]
    return CodeObject("stubs", [(0x10000, 0x20000)], symbols, "stubs", 0x10000)


def _bound(*names: str) -> tuple[set[str], list[bytes]]:
    asked: list[bytes] = []

    class Asked:
        def may_hold(self, *parts: bytes) -> bool:
            asked.extend(parts)
            return any(part in name.encode() for part in parts for name in names)

        def may_define(self, wanted: tuple[bytes, ...]) -> bool:
            return True

    symbols = [(name, 0x100 * at, 8, False, False, True) for at, name in enumerate(names)]
    state = RedirState()
    state.add_object(CodeObject("prog", [(0x400000, 0x410000)], symbols, None, 0x400000, Asked()))
    state.add_object(_stubs())
    return {binding.symbol for binding in state.active.values()}, asked


def test_bodies_for_a_cpu_are_bound_by_name() -> None:
    names = (
        "__strlen_sse2", "__strlen_avx2_rtm", "__strchr_evex", "__memcpy_ssse3", "__memcpy_avx512_erms",
    )  # fmt: skip
    others = ("strlen", "__memcpy_chk", "__strlen_c1", "my__strlen_avx2", "__strchr_avo")
    assert _bound(*names, *others)[0] == set(names)
    assert _bound("__memcpy_chk_avx512_erms")[0] == {"__memcpy_chk_avx512_erms"}


def test_a_program_without_them_is_asked_once_for_a_family() -> None:
    bound, asked = _bound("main", "strlen")
    assert not bound
    assert sorted(set(asked)) == sorted(asked)
    assert {b"_ss", b"_avx", b"_evex"} <= set(asked)
    assert not any(b"strlen" in part for part in asked)
