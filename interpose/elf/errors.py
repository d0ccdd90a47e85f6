"""The one exception of this package."""

from __future__ import annotations


class ElfError(Exception):
    """A file is no usable ELF image; the message is one line that names the file and the fault."""

    def __init__(self, path: str, fault: str) -> None:
        super().__init__(f"{path}: {fault}")
        self.path = path
        self.fault = fault
