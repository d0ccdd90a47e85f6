"""What a process has mapped, as its kernel tells it: ``/proc/PID/maps`` (proc_pid_maps(5))."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import NamedTuple
else:
    from interpose.records import NamedTuple


class Region(NamedTuple):
    """One mapping: the file's name as the kernel writes it, empty for memory of no file."""

    start: int
    end: int
    rights: bytes  # b"rw-p"
    offset: int
    device: tuple[int, int]
    inode: int
    name: bytes

    @property
    def writable(self) -> bool:
        return self.rights.startswith(b"rw")

    @property
    def is_code(self) -> bool:
        return self.rights[2:3] == b"x"

    def link(self, pid: int) -> str:
        """A name that opens the file, whatever that process's root is, and if it was replaced or removed."""
        return f"/proc/{pid}/map_files/{self.start:x}-{self.end:x}"


def regions(pid: int) -> Iterator[Region]:
    """All mappings of a process, by address. Raises OSError if it is gone, or may not be looked at."""
    with open(f"/proc/{pid}/maps", "rb") as file:
        for line in file:
            span, rights, offset, device, inode, *name = line.rstrip(b"\n").split(None, 5)
            start, _, end = span.partition(b"-")
            major, _, minor = device.partition(b":")
            yield Region(
                int(start, 16),
                int(end, 16),
                rights,
                int(offset, 16),
                (int(major, 16), int(minor, 16)),
                int(inode),
                name[0] if name else b"",
            )


def region_at(pid: int, address: int) -> Region | None:
    """The mapping that an address lies in. Raises OSError as `regions` does."""
    return next((region for region in regions(pid) if region.start <= address < region.end), None)
