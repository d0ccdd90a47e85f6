"""What the kernel tells of a process's mappings."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest

from interpose.procmaps import region_at, regions


def test_own_regions() -> None:
    found = list(regions(os.getpid()))
    assert [region.start for region in found] == sorted(region.start for region in found)
    stack = next(region for region in found if region.name == b"[stack]")
    assert stack.writable and not stack.is_code and stack.inode == 0
    assert any(region.is_code and region.name.startswith(b"/") for region in found)


def test_a_file_with_an_odd_name(tmp_path: Path) -> None:
    """Its second page; it is opened by the mapping after it was removed."""
    page = mmap.PAGESIZE
    path = os.fsencode(tmp_path) + b"/a  b\xff"
    Path(os.fsdecode(path)).write_bytes(b"a" * page + b"b" * page)
    with open(path, "rb") as file, mmap.mmap(file.fileno(), page, prot=mmap.PROT_READ, offset=page):
        status = os.fstat(file.fileno())
        (region,) = (each for each in regions(os.getpid()) if each.name == path)
        assert region_at(os.getpid(), region.start + 1) == region
        assert (region.rights, region.offset, region.inode) == (b"r--s", page, status.st_ino)
        assert os.makedev(*region.device) == status.st_dev and region.end - region.start == page
        os.unlink(path)
        with open(region.link(os.getpid()), "rb") as again:
            assert again.read() == b"a" * page + b"b" * page
        assert region_at(os.getpid(), region.start).name == path + b" (deleted)"


def test_nothing_is_mapped_at_the_first_page() -> None:
    assert region_at(os.getpid(), 0) is None


def test_of_no_process() -> None:
    with pytest.raises(OSError):
        list(regions(1 << 30))
