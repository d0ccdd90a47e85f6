"""Names for people: C++, Rust and D demangling, and Z-encoded redirect names."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re
    from collections.abc import Callable
    from functools import cache
else:
    from interpose.plain import cache

_RUST_LEGACY = r"(_ZN.+)17h[0-9a-f]{16}E"
_RUST_ESCAPES = (
    ("$SP$", "@"),
    ("$BP$", "*"),
    ("$RF$", "&"),
    ("$LT$", "<"),
    ("$GT$", ">"),
    ("$LP$", "("),
    ("$RP$", ")"),
    ("$C$", ","),
    ("..", "::"),
)
_RUST_UNICODE = r"\$u([0-9a-f]{1,6})\$"
_RUST_LENGTH = r"\d+"
_OPERATOR = r"(?:^|[:\s])(operator\s*(?:\(\)|\[\]|[^\w\s(]+|\s[^(]+))"


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Most runs demangle nothing: only those that do load the regular expressions."""
    import re

    return re.compile(text)


def is_mangled(name: str) -> bool:
    """Whether this may be a mangled name of C++, Rust or D. Valgrind shows those of Ada as they are."""
    return name.startswith(("_Z", "_R")) or (
        name.startswith("_D") and (name[2:3].isdigit() or name == "_Dmain")
    )


@cache
def demangle(symbol: str) -> str:
    """`symbol` as a person would write it; a name that is not mangled comes back unchanged.

    A version suffix (`@@V`) survives. Redirect names (`_vgr...`, `_vgw...`) yield their function part first.
    """
    name = z_decoded(symbol)
    if not is_mangled(name):
        return name
    plain, at, version = name.partition("@")
    if plain.startswith("_R"):
        from interpose.elf.rustv0 import rust_v0

        text = rust_v0(plain)
    elif plain.startswith("_D"):
        from interpose.elf.dlang import dlang

        text = dlang(plain)
    else:
        rust = _pattern(_RUST_LEGACY).match(plain)
        text = _rust_legacy(rust[1]) if rust else _cxa_demangle()(plain)
    return name if text is None else text + at + version


def z_decoded(symbol: str) -> str:
    """The function part of a Z-encoded redirect name, any other name unchanged."""
    if not symbol.startswith(("_vgr", "_vgw")):
        return symbol
    from interpose.zenc import display_name

    return display_name(symbol)


def short_name(demangled: str) -> str:
    """The last component, no parameters: `ns::Box<int>::get(int) const`, `a.get!(int).get(int)` → `get`."""
    operator = _pattern(_OPERATOR).search(demangled)
    if operator:
        return operator[1]
    depth = start = 0
    text = demangled.replace("(anonymous namespace)", "{anonymous namespace}")
    for index, char in enumerate(text):
        if char == "(" and depth == 0 and text[index - 1 : index] != "!":
            return text[start:index]
        if char in "<({[":
            depth += 1
        elif char in ">)}]":
            depth -= 1
        elif depth == 0 and char in ":. ":
            start = index + 1
    return text[start:]


@cache
def _cxa_demangle() -> Callable[[str], str | None]:
    """`__cxa_demangle` of whichever C++ library there is.

    ctypes with the library's fixed name: what searches for the name (`ctypes.util`, and so cxxfilt) runs
    ldconfig and gcc, which takes longer than all the demangling.
    """
    import ctypes

    for library in ("libstdc++.so.6", "libc++abi.so.1", "libc++.so.1"):
        try:
            function = ctypes.CDLL(library).__cxa_demangle
            break
        except (OSError, AttributeError):
            continue
    else:
        return lambda name: None
    release = ctypes.CDLL(None).free
    release.argtypes = [ctypes.c_void_p]
    release.restype = None
    function.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
    function.restype = ctypes.c_void_p

    def call(name: str) -> str | None:
        status = ctypes.c_int(0)
        result = function(name.encode("utf-8", "surrogateescape"), None, None, ctypes.byref(status))
        if not result:
            return None
        try:
            return ctypes.string_at(result).decode("utf-8", "surrogateescape")
        finally:
            release(result)

    return call


def _rust_legacy(mangled: str) -> str | None:
    """The path of a legacy Rust symbol: `_ZN` and components that start with their length."""
    parts: list[str] = []
    position = 3
    while (digits := _pattern(_RUST_LENGTH).match(mangled, position)) is not None:
        position = digits.end() + int(digits[0])
        part = mangled[digits.end() : position]
        if part.startswith("_$"):
            part = part[1:]
        for escape, text in _RUST_ESCAPES:
            part = part.replace(escape, text)
        parts.append(_pattern(_RUST_UNICODE).sub(_code_point, part))
    return "::".join(parts) if position == len(mangled) else None


def _code_point(match: re.Match[str]) -> str:
    value = int(match[1], 16)
    return chr(value) if value < 0x110000 and not 0xD800 <= value < 0xE000 else match[0]
