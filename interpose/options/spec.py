"""The vocabulary of option tables.

A table is a class deriving from :class:`Table` whose attributes are options::

    class Options(Table):
        trace_redir: bool = YesNo("show redirection details", dynamic=True)

The attribute's name gives the option's (``--trace-redir=``), the annotation the type of the parsed value.
Parsed values live in instances, which are frozen.  No dataclasses, enum or re: this is on the start-up path.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any, ClassVar

# Support states.  PLANNED options are accepted, and a warning says so when one is used; IGNORED ones belong
# to other platforms or to the inside of another implementation, and are accepted in silence.
WORKS, PLANNED, IGNORED = "works", "planned", "ignored"

_LEAST_LONG, _LARGEST_LONG = -(1 << 63), (1 << 63) - 1


class BadValue(Exception):
    """A value that an option does not take; the arguments are reason lines."""


class PassedOver(BadValue):
    """A value that is told and passed over, as Valgrind does: what runs there runs here."""


class Option:
    """One row of a table: spelling, type, default, and what help and documentation say about it.

    :param help: what it does, one phrase.
    :param default: value when not given; ``shown`` is its text in help where it differs.
    :param dynamic: changeable while the program runs (column D of docs/options.md).
    :param status: WORKS, PLANNED or IGNORED.
    :param name: spelling, where it is not the attribute's name with dashes.
    :param aliases: further spellings.
    :param group: heading in help; options inherit the group of the row above.
    :param metavar: the value's name in help, e.g. ``<number>``.
    :param command_line_only: not taken from files and environment.
    :param command_line_values: texts that are not taken from there.
    :param alone: what the word means without a value; None: it needs one.
    """

    metavar = ""
    takes_value = True  # spelled with =value
    holds_value = True  # the table's instances have a value of this name
    dest: str
    name: str

    def __init__(
        self,
        help: str,
        default: Any = None,
        *,
        shown: str | None = None,
        dynamic: bool = False,
        status: str = WORKS,
        name: str | None = None,
        aliases: tuple[str, ...] = (),
        group: str | None = None,
        metavar: str | None = None,
        command_line_only: bool = False,
        command_line_values: tuple[str, ...] = (),
        alone: str | None = None,
    ) -> None:
        self.help = help
        self.default = default
        self.shown = shown
        self.dynamic = dynamic
        self.status = status
        self.aliases = aliases
        self.group = group
        self.command_line_only = command_line_only
        self.command_line_values = command_line_values
        self.alone = alone
        if metavar is not None:
            self.metavar = metavar
        if name is not None:
            self.name = name

    def bind(self, attribute: str) -> None:
        """Called by the table with the attribute's name."""
        self.dest = attribute
        if not hasattr(self, "name"):
            self.name = "--" + attribute.replace("_", "-")

    def spellings(self) -> tuple[str, ...]:
        """Every spelling, without value."""
        return (self.name, *self.aliases)

    def dynamic_spellings(self) -> list[str]:
        """The words ``--help-dyn-options`` lists for this option (docs/spec/options.md section 9)."""
        return list(self.spellings())

    def parse(self, text: str) -> Any:
        """The value that ``text`` stands for; :class:`BadValue` if none."""
        raise NotImplementedError

    def apply(self, values: dict[str, Any], text: str) -> None:
        """Record ``text`` in the values under construction; later ones win."""
        values[self.dest] = self.parse(text)

    def show_default(self) -> str:
        """The default as help and documentation print it."""
        return self.shown if self.shown is not None else self.format(self.default)

    def format(self, value: Any) -> str:
        """A value as the user would write it."""
        return "" if value is None else str(value)


class YesNo(Option):
    """``yes`` or ``no``, nothing else."""

    def __init__(self, help: str, default: bool = False, **more: Any) -> None:
        super().__init__(help, default, **more)
        self.metavar = more.get("metavar") or ("yes|no" if default else "no|yes")

    def parse(self, text: str) -> bool:
        if text not in ("yes", "no"):
            raise BadValue(f"Invalid boolean value '{text}' (should be 'yes' or 'no')")
        return text == "yes"

    def format(self, value: bool) -> str:
        return "yes" if value else "no"


class Integer(Option):
    """Decimal number within bounds, read as C reads it; ``base=16`` wants ``0x…``.

    Without bounds, what does not fit into 64 bits is the nearest number that does.
    """

    metavar = "<number>"

    def __init__(
        self,
        help: str,
        default: int | None,
        lo: int | None = None,
        hi: int | None = None,
        *,
        base: int = 10,
        **more: Any,
    ) -> None:
        super().__init__(help, default, **more)
        self.lo, self.hi, self.base = lo, hi, base
        if base == 16 and "metavar" not in more:
            self.metavar = "0x…"

    def parse(self, text: str) -> int:
        value = parse_hex(text) if self.base == 16 else parse_decimal(as_c_reads(text))
        if value is None:
            raise BadValue(f"Invalid integer value '{text}'")
        if self.lo is None and self.hi is None:
            return max(_LEAST_LONG, min(value, _LARGEST_LONG))  # as strtoll does
        lo = self.lo if self.lo is not None else _LEAST_LONG
        hi = self.hi if self.hi is not None else _LARGEST_LONG
        if not lo <= value <= hi:
            raise BadValue(f"'{self.name}' argument must be between {lo} and {hi}")
        return value

    def format(self, value: int | None) -> str:
        if value is None:
            return ""
        return hex(value) if self.base == 16 else str(value)


class PowerOfTwo(Integer):
    """A power of two within bounds."""

    def parse(self, text: str) -> int:
        try:
            value = super().parse(text)
        except BadValue:
            value = 0
        if value <= 0 or value & (value - 1):
            raise BadValue(f"Alignment must be a power of 2 in the range {self.lo}..{self.hi}.")
        return value


class HexByte(Option):
    """A byte in hexadecimal, with or without ``0x``; -1 stands for "not given"."""

    metavar = "<hexnumber>"

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(help, -1, shown="", **more)

    def parse(self, text: str) -> int:
        digits = as_c_reads(text)
        value = parse_hex(digits if digits[:2] in ("0x", "0X") else "0x" + digits)
        if value is None:
            raise BadValue(f"Invalid integer value '{text}'")
        if value > 0xFF:
            raise BadValue(f"'{self.name}' argument must be between 0x00 and 0xFF")
        return value


class Choice(Option):
    """One word of a list; ``same`` maps further words to one of the list."""

    def __init__(
        self,
        help: str,
        choices: tuple[str, ...],
        default: str,
        *,
        same: dict[str, str] | None = None,
        list_words: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(help, default, **more)
        self.choices = choices
        self.same = same or {}
        self.list_words = list_words
        if "metavar" not in more:
            self.metavar = "|".join(choices)

    def parse(self, text: str) -> str:
        value = self.same.get(text, text)
        if value not in self.choices:
            raise BadValue(
                f"Invalid value '{text}' (should be one of {', '.join([*self.choices, *self.same])})"
            )
        return value

    def dynamic_spellings(self) -> list[str]:
        # --help-dyn-options lists some of these with every word (docs/spec/options.md section 9).
        if not self.list_words:
            return super().dynamic_spellings()
        words = []
        for choice in self.choices:
            words += [word for word, target in self.same.items() if target == choice]
            words.append(choice)
        return [f"{self.name}={word}" for word in words]


class Members(Option):
    """A set: comma list of words; ``all`` (where allowed) and ``none`` must stand alone."""

    def __init__(
        self,
        help: str,
        members: tuple[str, ...],
        default: Iterable[str],
        *,
        allow_all: bool = True,
        **more: Any,
    ) -> None:
        super().__init__(help, frozenset(default), **more)
        self.members = members
        self.allow_all = allow_all
        self.metavar = more.get("metavar") or "kind1,kind2,…"

    def parse(self, text: str) -> frozenset[str]:
        if text == "none":
            return frozenset()
        if text == "all" and self.allow_all:
            return frozenset(self.members)
        words = [word for word in text.split(",") if word]
        if words and set(words) in ({"none"}, {"all"}) and words[0] != text:
            return self.parse(words[0])
        if not words or not all(word in self.members for word in words):
            raise BadValue(f"{text} is an invalid {self.name[2:]} set")
        return frozenset(words)

    def format(self, value: frozenset[str]) -> str:
        if not value:
            return "none"
        if self.allow_all and len(value) == len(self.members):
            return "all"
        return ",".join(word for word in self.members if word in value)


class Text(Option):
    """Any text; ``None`` (or the default) when not given."""

    metavar = "<text>"

    def __init__(
        self,
        help: str,
        default: str | None = None,
        *,
        check: Callable[[str], None] | None = None,
        **more: Any,
    ) -> None:
        super().__init__(help, default, **more)
        self.check = check

    def parse(self, text: str) -> Any:
        if self.check is not None:
            self.check(text)
        return text


class FileName(Text):
    """A file name with expansions, made when the file is (docs/spec/output.md section 10)."""

    metavar = "<file>"


class Repeated(Text):
    """A text that may be given many times; the values accumulate over all sources."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(help, None, **more)
        self.default = ()

    def apply(self, values: dict[str, Any], text: str) -> None:
        values[self.dest] = (*values[self.dest], self.parse(text))

    def format(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


class RepeatedList(Repeated):
    """Texts parted by commas, in one option or in several."""

    def apply(self, values: dict[str, Any], text: str) -> None:
        values[self.dest] = (*values[self.dest], *(part for part in text.split(",") if part))


class Numbered(Option):
    """A text that may be given many times, for a number in the option's name: ``--separate-callers2=main``.

    ``name`` ends in ``<n>``; the value is a tuple of (number, text).
    """

    metavar = "<text>"

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(help, (), **more)

    def apply(self, values: dict[str, Any], text: str) -> None:
        number, _, rest = text.partition(" ")
        if parse_decimal(number) is None:
            raise BadValue(f"{self.name}: a number is expected in place of <n>")
        values[self.dest] = (*values[self.dest], (int(number), rest))

    def format(self, value: tuple[tuple[int, str], ...]) -> str:
        return ""


class CommaList(Text):
    """Texts parted by commas; empty ones are dropped."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(help, None, **more)
        self.default = ()

    def parse(self, text: str) -> tuple[str, ...]:
        super().parse(text)
        return tuple(part for part in text.split(",") if part)

    def format(self, value: tuple[str, ...]) -> str:
        return ",".join(value)


class Parsed(Option):
    """A text with a grammar of its own: ``parser`` turns it into a value or raises :class:`BadValue`."""

    def __init__(self, help: str, parser: Callable[[str], Any], default: Any = None, **more: Any) -> None:
        super().__init__(help, default, **more)
        self.parser = parser

    def parse(self, text: str) -> Any:
        return self.parser(text)


class Bits(Option):
    """Eight digits 0 or 1, as a tuple of booleans (--trace-flags)."""

    def __init__(self, help: str, **more: Any) -> None:
        super().__init__(help, (False,) * 8, metavar="<XXXXXXXX>", **more)

    def parse(self, text: str) -> tuple[bool, ...]:
        if len(text) != 8:
            raise BadValue(f"{self.name} argument must have 8 digits")
        if set(text) - {"0", "1"}:
            raise BadValue(f"{self.name} argument can only contain 0s and 1s")
        return tuple(digit == "1" for digit in text)

    def format(self, value: tuple[bool, ...]) -> str:
        return "".join("01"[bit] for bit in value)


class Flag(Option):
    """A word without value that changes the values under construction through ``effect``."""

    takes_value = False

    def __init__(
        self, help: str, effect: Callable[[dict[str, Any]], None], default: Any = None, **more: Any
    ) -> None:
        super().__init__(help, default, shown=more.pop("shown", ""), **more)
        self.effect = effect
        self.holds_value = default is not None

    def apply(self, values: dict[str, Any], text: str) -> None:
        self.effect(values)


class Legacy(YesNo):
    """A yes/no spelling of an older time that changes another option's value."""

    holds_value = False

    def __init__(self, help: str, effect: Callable[[dict[str, Any], bool], None], **more: Any) -> None:
        super().__init__(help, shown="", **more)
        self.effect = effect

    def apply(self, values: dict[str, Any], text: str) -> None:
        self.effect(values, self.parse(text))

    def format(self, value: Any) -> str:
        return ""


class Table:
    """Base of option tables; subclasses declare options, instances hold frozen values."""

    title: ClassVar[str] = ""
    _options: ClassVar[dict[str, Option]] = {}
    _spellings: ClassVar[dict[str, Option]]

    def __init_subclass__(cls) -> None:
        group = cls.title
        options = {}
        for attribute, option in list(vars(cls).items()):
            if isinstance(option, Option):
                option.bind(attribute)
                group = option.group or group
                option.group = group
                options[attribute] = option
                # A row without value of its own must not be read as one from an instance.
                delattr(cls, attribute)
        cls._options = options

    def __init__(self, values: dict[str, Any]) -> None:
        self.__dict__.update(values)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"options are frozen: {name}")

    def warnings(self) -> list[str]:
        """What the log begins with where values do not go together."""
        return []

    def written_late(self) -> list[tuple[str, str]]:
        """Option and template of each file made at the end: a template that is none is told before."""
        return []

    @classmethod
    def options(cls) -> Iterable[Option]:
        """The rows, in order of declaration."""
        return cls._options.values()

    @classmethod
    def spellings(cls) -> dict[str, Option]:
        """Every spelling of every row; the same object each time."""
        found: dict[str, Option] | None = cls.__dict__.get("_spellings")
        if found is None:
            found = {spelling: option for option in cls._options.values() for spelling in option.spellings()}
            cls._spellings = found
        return found

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """Values when nothing is given."""
        return {option.dest: option.default for option in cls._options.values() if option.holds_value}

    @classmethod
    def finish(cls, values: dict[str, Any], core: dict[str, Any], given: dict[str, str]) -> None:
        """Rules between options: adjust ``values``, or raise :class:`OptionError`.

        :param given: the last word given for each attribute that was given.
        """


def as_c_reads(text: str) -> str:
    """The text without the blanks and the plus that ``strtoll`` passes over; of an empty one it makes 0.

    Scripts that leave a variable empty (``--error-exitcode=$CODE``) rely on the latter.
    """
    if not text:
        return "0"
    digits = text.lstrip(" \t\n\v\f\r")
    return digits[1:] if digits[:1] == "+" and digits[1:2] != "-" else digits


def parse_decimal(text: str) -> int | None:
    """Decimal digits with an optional minus; Python's underscores and blanks are no digits here."""
    digits = text[1:] if text[:1] == "-" else text
    return int(text) if digits.isascii() and digits.isdigit() else None


def parse_hex(text: str) -> int | None:
    """``0x`` and hexadecimal digits."""
    digits = text[2:]
    if text[:2] not in ("0x", "0X") or not digits or set(digits.lower()) - set("0123456789abcdef"):
        return None
    return int(digits, 16)
