"""What is kept of mapped files from one program to the next."""

import errno
import os
import resource

import pytest

from interpose import system
from interpose.elf import openfile
from interpose.elf.openfile import OpenFile
from interpose.elf.symbolizer import ObjectFile, Symbolizer
from interpose.errors import NO_DESCRIPTORS
from interpose.redir import CodeObject, SymbolTable
from interpose.redir.index import SymbolIndex
from interpose.supervisor.end import _internal
from interpose.supervisor.files import Files


def files_read(known):
    """The bytes that a symbolizer would read."""
    file = known.object_file(lambda path, file: file)
    return file and file.read(0, 100)


def _rewritten(path, data):
    path.with_suffix(".new").write_bytes(data)
    os.replace(path.with_suffix(".new"), path)


def test_a_file_is_known_to_the_next_program_and_forgotten_by_the_one_after(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    files = Files()
    first = files.get(str(path))
    assert files.get(str(path)) is first
    files.next_program()
    assert files.get(str(path)) is first
    files.next_program()
    files.next_program()
    assert files.get(str(path)) is not first


def test_a_file_that_was_replaced_is_read_again(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    files = Files()
    first = files.get(str(path))
    assert first.names.may_hold(b"x")  # no ELF file: it cannot tell
    _rewritten(path, b"two")
    assert files.get(str(path)) is not first


def test_a_file_that_was_written_to_is_read_again(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    files = Files()
    first = files.get(str(path))
    path.write_bytes(b"three")
    assert files.get(str(path)) is not first


def test_contents_of_one_size_written_at_the_same_time_are_told_apart(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    files = Files()
    first = files.get(str(path))
    # As two writes within one tick of the kernel's clock; the time of the change of the inode, which nobody
    # can set, is left out here.
    status = path.stat()
    path.write_bytes(b"two")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert files.get(str(path)) is not first


def test_the_file_that_is_mapped_is_found_by_another_name(tmp_path):
    path, kept = tmp_path / "lib.so", tmp_path / "kept"
    path.write_bytes(b"one")
    os.link(path, kept)
    status = path.stat()
    _rewritten(path, b"two")
    mapped = status.st_dev, status.st_ino
    assert files_read(Files().get(str(path), mapped, [str(kept)])) == b"one"
    assert files_read(Files().get(str(path), mapped)) is None


def test_a_file_is_read_after_it_was_replaced(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    known = Files().get(str(path))
    _rewritten(path, b"two")
    assert files_read(known) == b"one"


def test_without_descriptors_to_spare_a_file_is_read_while_it_is_the_same(tmp_path, monkeypatch):
    monkeypatch.setattr(openfile, "MOST_HELD", 0)
    path = tmp_path / "lib.so"
    path.write_bytes(b"one" + bytes(openfile.KEPT))
    file = OpenFile(str(path))
    assert file.read(openfile.KEPT, 9) == bytes(3)
    _rewritten(path, b"two" + bytes(openfile.KEPT))
    with pytest.raises(OSError, match="replaced"):
        file.read(0, 3 + openfile.KEPT)
    assert file.read(0, 3) == b"one"


def test_near_the_limit_on_descriptors_no_file_is_kept_open(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest = os.dup(0)
    os.close(lowest)
    for room, held in ((system.LEFT_FREE, False), (system.LEFT_FREE + 1, True)):
        resource.setrlimit(resource.RLIMIT_NOFILE, (lowest + room, limits[1]))
        try:
            file = OpenFile(str(path))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        assert file.read(0, 3) == b"one"
        assert os.path.exists(f"/proc/self/fd/{lowest}") is held
        del file


def test_a_supervisor_without_descriptors_says_so(capfd):
    _internal(OSError(errno.EMFILE, "Too many open files"))
    told = f"interpose: {NO_DESCRIPTORS}\n"
    assert capfd.readouterr().err == told


def test_a_file_that_is_gone_is_never_kept():
    files = Files()
    assert files.get("/no/such/file") is not files.get("/no/such/file")


def test_two_symbolizers_share_an_object_file(tmp_path):
    path = tmp_path / "lib.so"
    path.write_bytes(b"one")
    files = Files()
    first = files.get(str(path)).object_file(Symbolizer().object_file)
    files.next_program()
    assert files.get(str(path)).object_file(Symbolizer().object_file) is first
    assert isinstance(first, ObjectFile)


def test_objects_at_different_addresses_share_a_table_of_symbols():
    asked = []

    def source():
        asked.append(1)
        return [("f", 0x10, 4, True, False, True), ("g@@V1", 0x20, 4, True, True, True)]

    table = SymbolTable(source)
    for base in (0x1000, 0x5000):
        obj = CodeObject("/lib.so", [(base, base + 0x100)], table, "lib.so", base)
        index = SymbolIndex(obj)
        assert [hit.address for hit in index.find("*")] == [base + 0x10, base + 0x20]
        assert index.is_resolver(base + 0x20) and not index.is_resolver(0x20)
        assert index.name_at(base + 0x20) == "g"
    half = CodeObject("/lib.so", [(0x1000, 0x1018)], table, "lib.so", 0x1000)
    assert [hit.address for hit in SymbolIndex(half).find("*")] == [0x1010]
    assert asked == [1]


def test_a_name_is_found_as_it_is_written():
    symbols = [("f@V1", 0x10, 4, True, False, True), ("f", 0x20, 4, True, False, True)]
    obj = CodeObject("/lib.so", [(0x1000, 0x1100)], symbols, "lib.so", 0x1000)
    index = SymbolIndex(obj)
    assert (index.named("f"), index.named("f@V1"), index.named("g")) == (0x1020, 0x1010, None)


def test_the_files_that_were_used_last_are_kept_open(tmp_path, monkeypatch):
    monkeypatch.setattr(openfile, "MOST_HELD", 2)
    paths = [tmp_path / name for name in ("one", "two", "three")]
    for path in paths:
        path.write_bytes(path.name.encode())
    files = [OpenFile(str(path)) for path in paths[:2]]
    assert files[0].read(0, 9) == b"one"
    files.append(OpenFile(str(paths[2])))
    for path in paths:
        _rewritten(path, b"other")
    assert files[0].read(0, 9) == b"one"
    with pytest.raises(OSError, match="replaced"):
        files[1].read(0, 9)
    assert files[2].read(0, 9) == b"three"
