"""Z-encoding of arbitrary names in C identifiers.

The escapes are listed in docs/spec/redirection.md section 2.
"""

from __future__ import annotations

ESCAPES: dict[str, str] = {
    "a": "*",
    "c": ":",
    "d": ".",
    "h": "-",
    "p": "+",
    "s": " ",
    "u": "_",
    "A": "@",
    "D": "$",
    "L": "(",
    "P": "%",
    "R": ")",
    "S": "/",
    "Z": "Z",
}
"""Letter after the escape character ``Z`` -> the character it stands for."""

_ENCODE = str.maketrans({plain: "Z" + letter for letter, plain in ESCAPES.items()})


class ZencError(ValueError):
    """Anything wrong with a Z-encoded text or a redirect symbol name; ``text`` is the offender."""

    def __init__(self, message: str, text: str) -> None:
        super().__init__(message)
        self.text = text


class BadEscapeError(ZencError):
    """A ``Z`` followed by no known escape letter."""


def encode(text: str) -> str:
    """Return the canonical Z-encoding of ``text``: every character that has an escape is escaped.

    Characters without one (letters, digits, ``?`` and all others) stay literal.
    """
    return text.translate(_ENCODE)


def decode(encoded: str) -> str:
    """Return the text that ``encoded`` stands for; raise `BadEscapeError` at an unknown escape.

    Accepts encodings that are not canonical (a literal ``_`` or ``.``), as symbol names use them.
    """

    found = []
    done = 0
    while (place := encoded.find("Z", done)) >= 0:
        letter = encoded[place + 1 : place + 2]
        plain = ESCAPES.get(letter)
        if plain is None:
            what = f"unknown escape 'Z{letter}'" if letter else "unfinished escape 'Z'"
            raise BadEscapeError(f"{what} at offset {place} of {encoded!r}", encoded)
        found += [encoded[done:place], plain]
        done = place + 2
    return "".join(found) + encoded[done:]
