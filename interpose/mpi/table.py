"""Reads ``wrappers/mpi/functions.table``; the notation is described at its beginning."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from interpose.errors import InterposeError

_PARAMETER = re.compile(
    r"(?P<kind>[\w*]+?|fn\(\w+\))(?P<optional>\?)?(?P<mode><>|[<>=&])?(?:\[(?P<length>.*?)\])?"
    r":(?P<name>\w+)(?:\{(?P<shape>.*)\})?$"
)
_SHAPE = re.compile(
    r"(?:(?P<blocks>all|group|sources|destinations|partitions)\*)?(?:(?P<fold>sum|mine):)?(?P<count>\w+)"
    r"(?:@(?P<displacements>\w+))?,(?P<type>\w+)(?P<each>\[\])?$"
)
BUFFERS = ("in", "out", "both", "bcast")


@dataclass(frozen=True)
class Shape:
    """Extent of a buffer: ``count`` of ``type`` for each of ``blocks`` (None: one block)."""

    count: str
    type: str
    blocks: str | None = None
    displacements: str | None = None
    types_differ: bool = False
    fold: str | None = None
    options: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Parameter:
    """``mode`` is the suffix of the kind; ``length`` is given for arrays; ``shape`` for buffers."""

    kind: str
    name: str
    mode: str = ""
    length: str | None = None
    optional: bool = False
    shape: Shape | None = None


@dataclass(frozen=True)
class Function:
    """``name`` without ``MPI_``."""

    name: str
    parameters: tuple[Parameter, ...]
    effects: dict[str, str] = field(default_factory=dict)
    wide: bool = False

    def find(self, kind: str, mode: str) -> Parameter | None:
        """The first parameter of a kind and mode."""
        return next((p for p in self.parameters if (p.kind, p.mode) == (kind, mode)), None)


def read(text: str) -> list[Function]:
    """All functions, variants included; :class:`InterposeError` names a line that cannot be read."""
    functions: list[Function] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        try:
            functions.extend(_functions(line))
        except ValueError as error:
            raise InterposeError(f"functions.table:{number}: {error}") from None
    return functions


def _functions(line: str) -> list[Function]:
    line, _, effects = line.partition("!")
    line, _, variants = line.partition(" + ")
    name, *words = line.split()
    parsed: dict[str, str] = {}
    for word in effects.split():
        key, _, value = word.partition("=")
        parsed[key] = value
    base = Function(name, tuple(map(_parameter, words)), parsed)
    return [base, *(_variant(base, kind) for kind in variants.split())]


def _parameter(word: str) -> Parameter:
    match = _PARAMETER.match(word)
    if match is None:
        raise ValueError(f"no parameter: {word}")
    shape = None
    if (match["shape"] is not None) != (match["kind"] in BUFFERS):
        raise ValueError(f"buffers, and nothing else, have a shape: {word}")
    if match["shape"] is not None:
        extent, *options = match["shape"].split(";")
        found = _SHAPE.match(extent)
        if found is None:
            raise ValueError(f"no shape: {extent}")
        shape = Shape(
            count=found["count"],
            type=found["type"],
            blocks=found["blocks"],
            displacements=found["displacements"],
            types_differ=found["each"] is not None,
            fold=found["fold"],
            options={key: value for key, _, value in (option.partition("=") for option in options)},
        )
    return Parameter(
        match["kind"],
        match["name"],
        match["mode"] or "",
        match["length"],
        match["optional"] is not None,
        shape,
    )


def _variant(base: Function, kind: str) -> Function:
    request = Parameter("request", "request", ">")
    lowered = base.name[0].lower() + base.name[1:]
    if kind == "I":
        return replace(base, name="I" + lowered, parameters=(*base.parameters, request))
    if kind == "R":
        effects = {key: value for key, value in base.effects.items() if key != "pending"}
        return replace(base, name="R" + lowered, parameters=(*base.parameters, request), effects=effects)
    if kind == "init":
        is_collective = not any(parameter.name == "dest" for parameter in base.parameters)
        info = (Parameter("info", "info"),) if is_collective else ()
        parameters = (*base.parameters, *info, request)
        effects = {**base.effects, "persistent": ""}
        return replace(base, name=base.name + "_init", parameters=parameters, effects=effects)
    raise ValueError(f"no variant: {kind}")
