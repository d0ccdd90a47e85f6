"""Names of Rust's v0 mangling (RFC 2603; "v0 Symbol Format" in the rustc book), as Valgrind prints them.

No hashes of crates and no types of constants are shown, and no suffix from the first `.` on.
"""

from __future__ import annotations

import re

from interpose.elf.mangled import MOST_DEPTH, MOST_STEPS, InvalidError, Reader

_BASIC = {
    **{"b": "bool", "c": "char", "e": "str", "u": "()", "z": "!", "p": "_", "v": "..."},
    **{"a": "i8", "s": "i16", "l": "i32", "x": "i64", "n": "i128", "i": "isize"},
    **{"h": "u8", "t": "u16", "m": "u32", "y": "u64", "o": "u128", "j": "usize"},
    **{"f": "f32", "d": "f64"},
}
_MANGLED = re.compile(r"_R([A-Z]\w*)(?:\..*)?", re.ASCII | re.DOTALL)
_DIGITS = re.compile(r"0|[1-9][0-9]*")
_BASE_62 = re.compile(r"([0-9a-zA-Z]*)_")
_HEX = re.compile(r"([0-9a-f]*)_")
_ESCAPES = {9: "\\t", 10: "\\n", 13: "\\r"}


def rust_v0(symbol: str) -> str | None:
    """The name for people; None for what is no such symbol."""
    match = _MANGLED.fullmatch(symbol)
    if match is None:
        return None
    reader = _Reader(match[1])
    try:
        name = reader.path(True)
        if reader.position < len(reader.text):
            reader.path(False)  # the crate in which it was instantiated
    except (InvalidError, UnicodeError, ValueError):
        return None
    return name if reader.position == len(reader.text) else None


class _Reader(Reader):
    """Its steps are characters."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._lifetimes = 0  # bound by the binders around

    # -- tokens -------------------------------------------------------------------------------

    def _next(self) -> str:
        self._steps += 1
        if self.position >= len(self.text) or self._steps > MOST_STEPS:
            raise InvalidError
        self.position += 1
        return self.text[self.position - 1]

    def _number(self) -> int:
        """A number in base 62."""
        digits = self._match(_BASE_62)[1]
        value = 0
        for char in digits:
            base = 48 if char.isdigit() else 87 if char.islower() else 29
            value = value * 62 + ord(char) - base
        return value + 1 if digits else 0

    def _optional_number(self, tag: str) -> int:
        return self._number() + 1 if self._eat(tag) else 0

    def _identifier(self) -> str:
        punycode = self._eat("u")
        length = int(self._match(_DIGITS)[0])
        self._eat("_")
        end = self.position + length
        name = self.text[self.position : end]
        if len(name) < length:
            raise InvalidError
        self.position = end
        self._steps += length
        if not punycode:
            return name
        plain, _, coded = name.rpartition("_")
        return (f"{plain}-{coded}" if plain else coded).encode().decode("punycode")

    def _back(self, production: str) -> str:
        start = self.position - 1
        target = self._number()
        if target >= start:
            raise InvalidError
        with self._elsewhere(target):
            return self._deeper(production)

    def _deeper(self, production: str) -> str:
        self._depth += 1
        if self._depth > MOST_DEPTH:
            raise InvalidError
        text = {"path": self.path, "value": self._value_path, "type": self._type, "const": self._constant}[
            production
        ]()
        self._depth -= 1
        return text

    def _until_end(self, production: str) -> list[str]:
        found: list[str] = []
        while not self._eat("E"):
            found.append(self._argument() if production == "argument" else self._deeper(production))
        return found

    # -- paths --------------------------------------------------------------------------------

    def _value_path(self) -> str:
        return self.path(True)

    def path(self, in_value: bool = False) -> str:
        """A path; in a value, generic arguments come after `::`."""
        again = "value" if in_value else "path"
        tag = self._next()
        if tag == "C":
            self._optional_number("s")
            return self._identifier()
        if tag == "N":
            return self._nested(again)
        if tag in "MXY":
            if tag != "Y":
                self._optional_number("s")
                self._deeper(again)  # where the implementation stands
            own = self._deeper("type")
            return f"<{own}>" if tag == "M" else f"<{own} as {self._deeper('path')}>"
        if tag == "I":
            generic = self._deeper(again)
            return f"{generic}{'::' if in_value else ''}<{', '.join(self._until_end('argument'))}>"
        if tag == "B":
            return self._back(again)
        raise InvalidError

    def _nested(self, again: str) -> str:
        space = self._next()
        if not space.isalpha():
            raise InvalidError
        outer = self._deeper(again)
        number = self._optional_number("s")
        name = self._identifier()
        if space.islower():
            return f"{outer}::{name}" if name else outer
        kind = {"C": "closure", "S": "shim"}.get(space, space)
        return f"{outer}::{{{kind}{':' if name else ''}{name}#{number}}}"

    def _argument(self) -> str:
        if self._eat("L"):
            return self._lifetime(self._number())
        return self._deeper("const" if self._eat("K") else "type")

    # -- types --------------------------------------------------------------------------------

    def _type(self) -> str:
        tag = self._next()
        if tag in _BASIC:
            return _BASIC[tag]
        if tag in "RQ":
            lifetime = self._number() if self._eat("L") else 0
            shown = f"{self._lifetime(lifetime)} " if lifetime else ""
            return f"&{shown}{'mut ' if tag == 'Q' else ''}{self._deeper('type')}"
        if tag in "PO":
            return f"*{'mut' if tag == 'O' else 'const'} {self._deeper('type')}"
        if tag == "A":
            return f"[{self._deeper('type')}; {self._deeper('const')}]"
        if tag == "S":
            return f"[{self._deeper('type')}]"
        if tag == "T":
            parts = self._until_end("type")
            return f"({', '.join(parts)}{',' if len(parts) == 1 else ''})"
        if tag in "FD":
            bound = self._lifetimes
            text = self._function() if tag == "F" else self._dynamic()
            self._lifetimes = bound
            if tag == "D":
                text += self._object_lifetime()
            return text
        if tag == "B":
            return self._back("type")
        self.position -= 1
        return self._deeper("path")

    def _binder(self) -> str:
        count = self._optional_number("G")
        if count > len(self.text):
            raise InvalidError
        names = []
        for _ in range(count):
            self._lifetimes += 1
            names.append(self._lifetime(1))
        return f"for<{', '.join(names)}> " if names else ""

    def _lifetime(self, number: int) -> str:
        if number == 0:
            return "'_"
        depth = self._lifetimes - number
        if depth < 0:
            raise InvalidError
        return f"'{chr(97 + depth)}" if depth < 26 else f"'_{depth}"

    def _function(self) -> str:
        text = self._binder()
        if self._eat("U"):
            text += "unsafe "
        if self._eat("K"):
            convention = "C" if self._eat("C") else self._identifier().replace("_", "-")
            text += f'extern "{convention}" '
        text += f"fn({', '.join(self._until_end('type'))})"
        return text if self._eat("u") else f"{text} -> {self._deeper('type')}"

    def _dynamic(self) -> str:
        text = f"dyn {self._binder()}"
        bounds: list[str] = []
        while not self._eat("E"):
            name, is_open = self._open_path()
            while self._eat("p"):
                name += f"{', ' if is_open else '<'}{self._identifier()} = "
                name += self._deeper("type")
                is_open = True
            bounds.append(f"{name}>" if is_open else name)
        return text + " + ".join(bounds)

    def _object_lifetime(self) -> str:
        if not self._eat("L"):
            raise InvalidError
        number = self._number()
        return f" + {self._lifetime(number)}" if number else ""

    def _open_path(self) -> tuple[str, bool]:
        """A trait whose generic arguments, if there are some, are not closed: equations may follow."""
        if self._eat("B"):
            start, target = self.position - 1, self._number()
            self._depth += 1
            if target >= start or self._depth > MOST_DEPTH:
                raise InvalidError
            with self._elsewhere(target):
                found = self._open_path()
            self._depth -= 1
            return found
        if self._eat("I"):
            generic = self._deeper("path")
            return f"{generic}<{', '.join(self._until_end('argument'))}", True
        return self._deeper("path"), False

    # -- constants ----------------------------------------------------------------------------

    def _constant(self) -> str:
        tag = self._next()
        if tag == "B":
            return self._back("const")
        if tag == "p":
            return "_"
        sign = "-" if tag in "aslxni" and self._eat("n") else ""
        digits = self._match(_HEX)[1]
        value = int(digits, 16)
        if tag in "aslxnihtmyoj":
            return f"{sign}0x{digits}" if len(digits) > 16 else f"{sign}{value}"
        if tag == "b" and value < 2:
            return "true" if value else "false"
        if tag == "c" and len(digits) <= 8:
            plain = chr(value) if 32 < value < 126 else f"\\u{{{value:x}}}"
            return f"'{_ESCAPES.get(value, plain)}'"
        raise InvalidError
