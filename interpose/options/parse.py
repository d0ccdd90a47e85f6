"""From words to a frozen :class:`Config` (docs/spec/options.md section 1)."""

from __future__ import annotations

import os

from interpose import tools
from interpose.errors import OptionError
from interpose.options.core import SHOWING, CoreOptions
from interpose.options.sources import outside_words
from interpose.options.spec import PLANNED, BadValue, Option, PassedOver, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any


class Config:
    """Everything the user asked for; frozen.

    :ivar core: values of the core's options, e.g. ``config.core.trace_redir``.
    :ivar tool: values of the tool's options, e.g. ``config.tool.leak_check``.
    :ivar tool_name: ``memcheck``, …
    :ivar given: all option words, of every source, in order (shown with ``-v``).
    :ivar inherited: option words of the command line, which traced children inherit.
    :ivar program: the program and its arguments.
    :ivar notices: lines for the log about sources that were not read.
    :ivar passed_over: lines for the log about values that were not taken.
    :ivar without_effect: names of options that were given and do nothing yet.
    """

    __slots__ = (
        *("core", "given", "inherited", "notices", "passed_over", "program", "tool", "tool_name"),
        "without_effect",
    )

    core: CoreOptions
    tool: Any
    tool_name: str
    given: tuple[str, ...]
    inherited: tuple[str, ...]
    program: tuple[str, ...]
    notices: tuple[str, ...]
    passed_over: tuple[str, ...]
    without_effect: tuple[str, ...]

    def __init__(self, **fields: Any) -> None:
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"the configuration is frozen: {name}")

    def replace(self, **changes: Any) -> Config:
        """A copy with some fields changed."""
        return Config(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})


def split_command_line(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Option words, and the program with its arguments; ``--`` ends the options."""
    for index, word in enumerate(words):
        if word == "--":
            return list(words[:index]), list(words[index + 1 :])
        if not word.startswith("-"):
            return list(words[:index]), list(words[index:])
    return list(words), []


def _unprefixed(word: str, tool: str) -> str | None:
    """The word without its ``tool:`` prefix; None if it is meant for another tool."""
    name, _, _ = word.partition("=")
    prefix, colon, _ = name[2:].partition(":")
    if not word.startswith("--") or not colon or (prefix and not prefix.replace("-", "").isalnum()):
        return word
    return "--" + word[3 + len(prefix) :] if prefix == tool else None


def _tool_name(words: Sequence[str]) -> str:
    name = CoreOptions.defaults()["tool"]
    for word in words:
        if word.startswith("--tool="):
            name = word[len("--tool=") :]
    return tools.known_as(name)


class _Builder:
    """Values under construction, of the core and one tool."""

    def __init__(self, tool: str) -> None:
        self.tool = tool
        module = tools.load(tool)
        tables: list[type[Table]] = [CoreOptions, module.Options]
        self.tables = tuple(tables)
        self.rows: dict[str, tuple[Option, int]] = {}
        for index, table in enumerate(self.tables):
            self.rows.update({spelling: (option, index) for spelling, option in table.spellings().items()})
        self.values = [table.defaults() for table in self.tables]
        self.values[0].update(getattr(module, "CORE_DEFAULTS", {}))
        self.given: tuple[dict[str, str], dict[str, str]] = ({}, {})
        self.planned: dict[str, None] = {}
        self.passed_over: list[str] = []

    def find(self, word: str) -> tuple[Option, int, str] | None:
        """Row, table and value text of a word; None if it is meant for another tool."""
        plain = _unprefixed(word, self.tool)
        if plain is None:
            return None
        name, equals, text = plain.partition("=")
        row = self.rows.get(name)
        if row is None and name[-1:].isdigit():
            stem = name.rstrip("0123456789")
            row, text = self.rows.get(f"{stem}<n>"), f"{name[len(stem) :]} {text}"
        if row is not None and not equals and row[0].alone is not None:
            return (*row, row[0].alone)
        if row is None or row[0].takes_value != bool(equals):
            raise OptionError.unknown(word)
        return (*row, text)

    def apply(self, word: str, *, on_command_line: bool) -> None:
        found = self.find(word)
        if found is None:
            return
        option, index, text = found
        if not on_command_line and (option.command_line_only or text in option.command_line_values):
            return
        try:
            option.apply(self.values[index], text)
        except PassedOver as reason:
            self.passed_over += map(str, reason.args)
            return
        except BadValue as reason:
            raise OptionError.bad(_unprefixed(word, self.tool) or word, *map(str, reason.args)) from None
        # Moved to the end, so that the order tells which was given last.
        self.given[index].pop(option.dest, None)
        self.given[index][option.dest] = word
        if option.status == PLANNED and option.holds_value:
            if self.values[index][option.dest] != option.default:
                self.planned[option.name] = None
            else:
                self.planned.pop(option.name, None)

    def finish(self) -> None:
        module = tools.load(self.tool)
        if self.values[0]["xml"] and not getattr(module, "XML", False):
            raise OptionError.bad("--xml=yes", f"{module.NAME} does not support XML output.")
        for index, table in enumerate(self.tables):
            table.finish(self.values[index], self.values[0], self.given[index])


def parse(words: Sequence[str], environ: Mapping[str, str] | None = None) -> Config:
    """The configuration for a command line (without the name of the command itself)."""
    environ = os.environ if environ is None else environ
    line, program = split_command_line(words)
    notices: list[str] = []
    outside = [] if "--command-line-only=yes" in line else outside_words(environ, notices)
    builder = _Builder(_tool_name([*outside, *line]))
    shows = any(word in SHOWING for word in line)
    for words_of, on_command_line in ((outside, False), (line, True)):
        for word in words_of:
            try:
                builder.apply(word, on_command_line=on_command_line)
            except OptionError:
                if not shows:  # help comes first: whoever asks for it may have been wrong in the rest
                    raise
    if "show" not in builder.values[0]:
        builder.finish()
    core, tool = (table(values) for table, values in zip(builder.tables, builder.values, strict=True))
    return Config(
        core=core,
        tool=tool,
        tool_name=builder.tool,
        given=(*outside, *line),
        inherited=tuple(line),
        program=tuple(program),
        notices=tuple(notices),
        passed_over=tuple(builder.passed_over),
        without_effect=tuple(builder.planned),
    )


def without_prefix(config: Config, word: str) -> str | None:
    """A word without its ``tool:`` prefix; None if it is meant for another tool."""
    return _unprefixed(word, config.tool_name)


class NotDynamicError(OptionError):
    """An option that keeps its value while the program runs."""


def dynamic_spelling(config: Config, word: str) -> str | None:
    """The entry of ``--help-dyn-options`` that stands for a word; None if there is none."""
    try:
        found = _Builder(config.tool_name).find(word)
    except OptionError:
        return None
    if found is None:
        return None
    spellings = found[0].dynamic_spellings()
    return next((spelling for spelling in (word, word.partition("=")[0]) if spelling in spellings), None)


def change(config: Config, word: str) -> Config:
    """The configuration after a dynamic option was changed while the program runs.

    Raises :class:`NotDynamicError`, or another :class:`OptionError` for a word or value that is none.
    """
    builder = _Builder(config.tool_name)
    found = builder.find(word)
    if found is None:
        return config
    option, index, text = found
    if not option.dynamic:
        raise NotDynamicError.bad(word, "it cannot be changed while the program runs")
    field = ("core", "tool")[index]
    values = dict(vars(getattr(config, field)))
    try:
        option.apply(values, text)
    except BadValue as reason:
        raise OptionError.bad(_unprefixed(word, config.tool_name) or word, *map(str, reason.args)) from None
    return config.replace(**{field: builder.tables[index](values)})
