"""Mapped code: what the runtime announces becomes objects of the redirection core and of the symbolizer,
and the core's bindings become the translator's.
"""

from __future__ import annotations

import os
from operator import attrgetter

from interpose.elf.errors import ElfError
from interpose.elf.image import text_symbols
from interpose.errors import InterposeError
from interpose.jit._native import lib
from interpose.redir import (
    CodeObject,
    Reason,
    RedirState,
    RequiredText,
    Synonyms,
    first_use_line,
    missing_text_lines,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from interpose.elf.symbolizer import Symbolizer
    from interpose.options.parse import Config
    from interpose.redir import Change
    from interpose.report.log import Log

IFUNC_WRAPPER = "_vgnU_ifunc_wrapper"


class MissingTextError(InterposeError):
    """--require-text-symbol was not met."""


class Objects:
    """The code of one client image."""

    def __init__(self, config: Config, log: Log, symbolizer: Symbolizer) -> None:
        core = config.core
        self._log = log
        self._trace = core.trace_redir
        self._verbosity = core.verbosity
        self._symbolizer = symbolizer
        required = core.require_text_symbol
        self.redir = RedirState(
            Synonyms.parse(core.soname_synonyms or ""), [RequiredText.parse(required)] if required else []
        )
        self._ifunc_wrapper = 0
        self._shown_first_use: set[int] = set()
        if self._trace:
            self._print(Reason.INITIALISE)

    def _print(self, reason: Reason) -> None:
        self._log.debug("\n".join(self.redir.trace_lines(reason)))

    def mapped(self, addr: int, length: int, offset: int, path: str) -> None:
        """Executable pages of a file were mapped.  Raises :class:`MissingTextError`."""
        self._symbolizer.add_mapping(path, addr, length, offset)
        lib.ip_stable_add(addr, addr + length)
        image = self._symbolizer.object_file(path).image
        if image is None:
            return
        biases = [addr - vaddr for vaddr in image.vaddrs_of_offset(offset)]
        if not biases:
            return
        try:
            debug = self._symbolizer.object_file(path).debug_image
            # By address, as written: of two rules for one function the first one's holds.
            symbols = tuple(sorted(text_symbols(image, debug), key=attrgetter("address")))
            soname = image.soname
        except ElfError:
            return
        obj = CodeObject(path, [(addr, addr + length)], symbols, soname, biases[0])
        if not self._ifunc_wrapper:
            self._ifunc_wrapper = next(
                (s.address + biases[0] for s in symbols if s.name == IFUNC_WRAPPER), 0
            )
        self._apply(self.redir.add_object(obj))
        if self._trace:
            self._print(Reason.NEW_OBJECT)

    def unmapped(self, addr: int, length: int) -> None:
        """A range with announced code was unmapped or replaced."""
        self._symbolizer.remove_mapping(addr, length)
        lib.ip_stable_del(addr, addr + length)
        change = self.redir.remove_range(addr, addr + length)
        self._apply(change)
        if self._trace:
            self._print(Reason.DELETED_OBJECT)

    def find_function(self, name: str) -> int:
        """Address of a function by its symbol, in the order of mapping; 0 if no object has it."""
        for obj in self.redir.objects:
            for symbol in obj.symbols:
                if symbol.name == name and symbol.is_text:
                    return symbol.address + obj.load_bias
        return 0

    def ifunc_resolved(self, resolver: int, target: int) -> None:
        """An indirect function chose its target (request 3104)."""
        self._apply(self.redir.add_ifunc_target(resolver, target))

    def _apply(self, change: Change) -> None:
        for binding in (*change.removed, *change.ifunc_removed):
            lib.ip_binding_del(binding.address)
            self._shown_first_use.discard(binding.address)
        for binding in change.added:
            lib.ip_binding_set(binding.address, binding.target, binding.kind.value == "W")
        for binding in change.ifunc_added:
            if self._ifunc_wrapper:
                lib.ip_binding_set(binding.address, self._ifunc_wrapper, 1)
        for message in change.messages:
            # Levels count -v; the log's verbosity is 1 without any.
            if self._verbosity > message.level:
                (self._log.debug if message.debug else self._log.plain)(message.text)
        if change.missing:
            raise MissingTextError("", *(line for m in change.missing for line in missing_text_lines(m)))

    def first_use(self, addr: int) -> None:
        """-v: a redirected address is executed for the first time."""
        if self._verbosity < 2 or addr in self._shown_first_use:
            return
        self._shown_first_use.add(addr)
        binding = self.redir.active.get(addr)
        if binding is not None:
            self._log.debug(first_use_line(binding))


def announced_path(data: bytes) -> str:
    """The path in a request, as Python spells file names."""
    return os.fsdecode(data.split(b"\0", 1)[0])
