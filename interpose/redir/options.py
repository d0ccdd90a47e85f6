"""The values of ``--soname-synonyms`` and ``--require-text-symbol``.

See docs/spec/options.md section 5; docs/spec/redirection.md section 3 (synonyms).
"""

from __future__ import annotations

from interpose.wildcards import compile_pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from dataclasses import dataclass, field
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple, dataclass, field

SYNONYM_PREFIX = "VgSoSyn"
DEFAULT_SYNONYM = "somalloc"


class SonameRule(NamedTuple):
    """What a soname pattern becomes after the replacement of synonyms."""

    soname: str
    global_only: bool


@dataclass(frozen=True, slots=True)
class Synonyms:
    """Soname patterns by synonym name."""

    patterns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, value: str) -> Synonyms:
        """Parse ``name=pattern,...``; of two patterns for one name the first counts.

        What is no pair says nothing, and is no error: a rule looks for its own name only.
        """
        patterns: dict[str, str] = {}
        for item in value.split(","):
            name, equals, pattern = item.partition("=")
            if equals:
                patterns.setdefault(name, pattern)
        return cls(patterns)

    def resolve(self, soname: str) -> SonameRule | None:
        """Return the pattern that stands for ``soname``; None (an unknown synonym) drops the rule."""
        if not soname.startswith(SYNONYM_PREFIX):
            return SonameRule(soname, False)
        name = soname[len(SYNONYM_PREFIX) :]
        if name in self.patterns:
            return SonameRule(self.patterns[name], False)
        return SonameRule("*", True) if name == DEFAULT_SYNONYM else None


class RequiredText(NamedTuple):
    """Objects that match ``soname`` must have a text symbol that matches ``function``."""

    soname: str
    function: str

    @classmethod
    def parse(cls, value: str) -> RequiredText:
        """Parse ``:soname-pattern:function-pattern``, whose first character ends the soname as well."""
        parts = value[1:].split(value[0], 1) if value else []
        if len(parts) != 2 or not all(parts):
            raise ValueError(f"'{value}' is not of the form :sonamepatt:fnnamepatt")
        return cls(*parts)

    def applies_to(self, soname: str) -> bool:
        return bool(compile_pattern(self.soname)(soname))
