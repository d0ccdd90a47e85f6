"""Names of D's mangling (dlang.org, "Application Binary Interface", "Name Mangling"), as binutils print them.

Functions are shown with their parameters, without attributes and the type that they return.
"""

from __future__ import annotations

import re

from interpose.elf.mangled import MOST_DEPTH, MOST_STEPS, InvalidError, Reader

_BASIC = {
    **{"v": "void", "b": "bool", "n": "typeof(null)", "a": "char", "u": "wchar", "w": "dchar"},
    **{
        "g": "byte",
        "h": "ubyte",
        "s": "short",
        "t": "ushort",
        "i": "int",
        "k": "uint",
        "l": "long",
        "m": "ulong",
    },
    **{"f": "float", "d": "double", "e": "real", "o": "ifloat", "p": "idouble", "j": "ireal"},
    **{"q": "cfloat", "r": "cdouble", "c": "creal"},
}
_LONG = {"i": "cent", "k": "ucent"}
_QUALIFIERS = {"x": "const", "y": "immutable", "O": "shared", "Ng": "inout"}
_CONVENTIONS = {
    **{"F": "", "U": "extern(C) ", "W": "extern(Windows) ", "V": "extern(Pascal) "},
    **{"R": "extern(C++) ", "Y": "extern(Objective-C) "},
}
_ATTRIBUTES = {
    **{"Na": "pure", "Nb": "nothrow", "Nc": "ref", "Nd": "@property", "Ne": "@trusted", "Nf": "@safe"},
    **{"Ni": "@nogc", "Nj": "return", "Nl": "scope", "Nm": "@live"},
}
_STORAGE = {"M": "scope", "Nk": "return", "I": "in", "J": "out", "K": "ref", "L": "lazy"}
_SPECIAL = {"__ctor": "this", "__dtor": "~this", "__postblit": "this(this)"}
_ARTIFICIAL = {
    **{"__init": "initializer", "__vtbl": "vtable", "__Class": "ClassInfo"},
    **{"__Interface": "Interface", "__ModuleInfo": "ModuleInfo"},
}
_SUFFIXES = {"h": "u", "t": "u", "k": "u", "l": "L", "m": "uL"}
_CHARACTERS = {"a": "\\x{:02x}", "u": "\\u{:04x}", "w": "\\U{:08x}"}
_ESCAPES = {9: "\\t", 10: "\\n", 11: "\\v", 12: "\\f", 13: "\\r"}

_DIGITS = re.compile(r"[0-9]+", re.ASCII)
_BASE_26 = re.compile(r"Q([A-Z]*[a-z])")
_FLOAT = re.compile(r"(N?)(?:(NAN|INF)|([0-9A-F])([0-9A-F]*)P(N?)([0-9]+))")
_PARENT = re.compile(r"__S[0-9]+")


def dlang(symbol: str) -> str | None:
    """The name for people; None for what is no such symbol."""
    if symbol == "_Dmain":
        return "D main"
    reader = _Reader(symbol)
    try:
        name = reader.mangled()
    except (InvalidError, RecursionError, ValueError, OverflowError):
        return None
    return name if reader.position == len(symbol) else None


class _Reader(Reader):
    """Its steps are productions, and characters of names."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._is_typed = False  # the type of what is named was a back reference, read with its parameters

    # -- tokens -------------------------------------------------------------------------------

    def _at(self, text: str) -> bool:
        return self.text.startswith(text, self.position)

    def _need(self, text: str) -> None:
        if not self._eat(text):
            raise InvalidError

    def _number(self) -> int:
        return int(self._match(_DIGITS)[0])

    def _count(self) -> int:
        count = self._number()
        if count > len(self.text):
            raise InvalidError
        return count

    def _one_of(self, table: dict[str, str]) -> str | None:
        for size in (1, 2):
            key = self.text[self.position : self.position + size]
            if key in table:
                self.position += size
                return table[key]
        return None

    def _all_of(self, table: dict[str, str]) -> list[str]:
        found = []
        while (word := self._one_of(table)) is not None:
            found.append(word)
        return found

    def _deeper(self) -> None:
        self._depth += 1
        self._steps += 1
        if self._depth > MOST_DEPTH or self._steps > MOST_STEPS:
            raise InvalidError

    def _target(self) -> int:
        """Where the back reference leads that is next; it is read."""
        start = self.position
        distance = 0
        for char in self._match(_BASE_26)[1]:
            distance = distance * 26 + (ord(char) & 31) - 1
        if not 0 < distance <= start:
            raise InvalidError
        return start - distance

    def _peek_target(self) -> str:
        """What the back reference leads to that is next, or what is next itself."""
        position = start = self.position
        while self._at("Q"):
            self.position = position = self._target()
        self.position = start
        return self.text[position : position + 1]

    # -- names --------------------------------------------------------------------------------

    def mangled(self) -> str:
        """A whole name; the type of what is named is left out."""
        self._deeper()
        self._need("_D")
        self._is_typed = False
        name = self._qualified(whole=True)
        if not self._is_typed and not self._eat("Z"):
            self._type()
        self._is_typed = False
        self._depth -= 1
        return name

    def _qualified(self, whole: bool = False) -> str:
        """A name and what it is in; of a whole one's last part the parameters, too, if it has some."""
        self._deeper()
        parts: list[str] = []
        artificial = ""
        while True:
            while self._eat("0"):
                pass  # without a name
            start = self.position
            name = self._symbol()
            after = self.text[self.position : self.position + 1]
            if whole and parts and after == "Z" and name in _ARTIFICIAL:
                artificial = f"{_ARTIFICIAL[name]} for "
                break
            if _PARENT.fullmatch(name) and self._begins_symbol() and self.text[start].isdigit():
                continue  # made up for what is local to two functions
            parameters = self._of_function(whole)
            parts.append(name + (parameters if name != "this(this)" else ""))
            if not self._begins_symbol():
                break
        self._depth -= 1
        return artificial + ".".join(parts)

    def _begins_symbol(self) -> bool:
        if self._at("__T") or self._at("__U"):
            return True
        try:
            return self._peek_target().isdigit()
        except InvalidError:
            return False

    def _of_function(self, whole: bool) -> str:
        """The parameters of the function whose name was read; empty if it is none."""
        start, depth = self.position, self._depth
        try:
            qualifiers = self._all_of(_QUALIFIERS) if self._eat("M") else []
            after = 0
            if whole and self._at("Q"):
                target = self._target()
                after, self.position = self.position, target
            if self._one_of(_CONVENTIONS) is None:
                raise InvalidError
            self._all_of(_ATTRIBUTES)
            text = self._parameters()
            self.position = after or self.position
            self._is_typed = bool(after)
        except InvalidError:
            text = ""
        if not text or not (whole or self._begins_symbol()):
            self.position, self._depth = start, depth
            return ""
        return " ".join((text, *qualifiers)) if whole else text

    def _symbol(self) -> str:
        if self._at("Q"):
            start, target = self.position, self._target()
            if not self.text[target].isdigit() or target >= start:
                raise InvalidError
            with self._elsewhere(target):
                return self._symbol()
        if self._at("__T") or self._at("__U"):
            return self._instance()
        length = self._number()
        self._steps += length
        start, end = self.position, self.position + length
        if not length or end > len(self.text):
            raise InvalidError
        if self._at("__T") or self._at("__U"):
            name = self._instance()
            if self.position != end:
                raise InvalidError
            return name
        self.position = end
        name = self.text[start:end]
        return _SPECIAL.get(name, name)

    def _instance(self) -> str:
        """A template with its arguments."""
        self._deeper()
        self.position += 3
        name = self._symbol()
        arguments: list[str] = []
        while not self._eat("Z"):
            self._eat("H")  # specialised
            arguments.append(self._argument())
        self._depth -= 1
        return f"{name}!({', '.join(arguments)})"

    def _argument(self) -> str:
        if self._eat("T"):
            return self._type()
        if self._eat("V"):
            kind = self._peek_target()
            return self._value(kind, self._type())
        if self._eat("S"):
            return self.mangled() if self._at("_D") else self._qualified()
        self._need("X")
        length = self._count()
        self.position += length
        if self.position > len(self.text):
            raise InvalidError
        return self.text[self.position - length : self.position]

    # -- types --------------------------------------------------------------------------------

    def _type(self) -> str:
        self._deeper()
        text = self._any_type()
        self._depth -= 1
        return text

    def _any_type(self) -> str:
        if self._at("Q"):
            with self._elsewhere(self._target()):
                return self._type()
        qualifier = self._one_of(_QUALIFIERS)
        if qualifier is not None:
            return f"{qualifier}({self._type()})"
        if self._eat("Nh"):
            return f"__vector({self._type()})"
        if self._eat("Nn"):
            return "noreturn"
        if any(map(self._at, _CONVENTIONS)):
            return self._function("function")
        tag = self.text[self.position : self.position + 1]
        self.position += 1
        if tag in _BASIC:
            return _BASIC[tag]
        if tag == "z" and (name := self._one_of(_LONG)):
            return name
        if tag == "A":
            return f"{self._type()}[]"
        if tag == "G":
            length = self._match(_DIGITS)[0]
            return f"{self._type()}[{length}]"
        if tag == "H":
            key = self._type()
            return f"{self._type()}[{key}]"
        if tag == "P":
            return self._function("function") if any(map(self._at, _CONVENTIONS)) else f"{self._type()}*"
        if tag == "D":
            qualifiers = self._all_of(_QUALIFIERS)
            return " ".join((self._delegate(), *qualifiers))
        if tag and tag in "CSETI":
            return self._qualified()
        if tag == "B":
            return f"Tuple!({', '.join(self._type() for _ in range(self._count()))})"
        raise InvalidError

    def _delegate(self) -> str:
        if not self._at("Q"):
            return self._function("delegate")
        with self._elsewhere(self._target()):
            return self._function("delegate")

    def _function(self, kind: str) -> str:
        """The type of a function, as a pointer or a delegate."""
        self._deeper()
        convention = self._one_of(_CONVENTIONS)
        if convention is None:
            raise InvalidError
        attributes = self._all_of(_ATTRIBUTES)
        parameters = self._parameters()
        result = self._type()
        self._depth -= 1
        return convention + " ".join((result + parameters, *attributes, kind))

    def _parameters(self) -> str:
        found: list[str] = []
        while True:
            if self._eat("Z"):
                break
            if self._eat("X"):
                found.append(f"{found.pop() if found else ''}...")
                break
            if self._eat("Y"):
                found.append("...")
                break
            storage = self._all_of(_STORAGE)
            found.append(" ".join((*storage, self._type())))
        return f"({', '.join(found)})"

    # -- values -------------------------------------------------------------------------------

    def _value(self, kind: str, kind_text: str) -> str:
        """A value of the type whose text is given, and of which ``kind`` is the first letter."""
        self._deeper()
        text = self._any_value(kind, kind_text)
        self._depth -= 1
        return text

    def _any_value(self, kind: str, kind_text: str) -> str:
        if self._eat("n"):
            return "null"
        if self._eat("N"):
            return f"-{self._integer(kind)}"
        if self._eat("i") or self.text[self.position : self.position + 1].isdigit():
            return self._integer(kind)
        if self._eat("e"):
            return self._float()
        if self._eat("c"):
            real = self._float()
            self._need("c")
            return f"{real}+{self._float()}i"
        if self._eat("A"):
            return f"[{', '.join(self._pairs() if kind == 'H' else self._elements())}]"
        if self._eat("S"):
            return f"{kind_text if kind == 'S' else ''}({', '.join(self._elements())})"
        if self._eat("f"):
            return self.mangled()
        return self._string()

    def _elements(self) -> list[str]:
        return [self._value("", "") for _ in range(self._count())]

    def _pairs(self) -> list[str]:
        return [f"{self._value('', '')}:{self._value('', '')}" for _ in range(self._count())]

    def _integer(self, kind: str) -> str:
        digits = self._match(_DIGITS)[0]
        if kind == "b":
            return "true" if int(digits) else "false"
        if kind in _CHARACTERS:
            value = int(digits)
            plain = kind == "a" and 0x20 <= value < 0x7F
            return f"'{chr(value) if plain else _CHARACTERS[kind].format(value)}'"
        return digits + _SUFFIXES.get(kind, "")

    def _float(self) -> str:
        sign, word, first, rest, negative, exponent = self._match(_FLOAT).groups()
        shown = {"NAN": "NaN", "INF": "Inf"}.get(
            word
        ) or f"0x{first}.{rest}p{'-' if negative else ''}{exponent}"
        return f"{'-' if sign else ''}{shown}"

    def _string(self) -> str:
        kind = self.text[self.position : self.position + 1]
        if not kind or kind not in "awd":
            raise InvalidError
        self.position += 1
        size = 2 * self._count()
        self._need("_")
        data = bytes.fromhex(self.text[self.position : self.position + size])
        if 2 * len(data) != size:
            raise InvalidError
        self.position += size
        text = "".join(
            chr(byte) if 0x20 <= byte < 0x7F else _ESCAPES.get(byte) or f"\\x{byte:02x}" for byte in data
        )
        return f'"{text}"{"" if kind == "a" else kind}'
