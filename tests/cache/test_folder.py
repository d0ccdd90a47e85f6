"""Whose the folder of the cache must be, and that its files are whole or not there."""

from __future__ import annotations

import errno
import os
import subprocess
import sys
import time

import pytest

from interpose.cache.folder import CacheError, Folder


@pytest.fixture
def top(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache"


def put(folder, name, data=b"text"):
    return folder.replace(name, lambda fd: os.write(fd, data) == len(data))


@pytest.fixture
def no_umask():
    before = os.umask(0)
    yield
    os.umask(before)


def test_made_when_it_is_needed_and_for_the_owner_alone(top, no_umask):
    folder = Folder()
    assert not top.exists()
    assert put(folder, "file")
    assert (top / "interpose").stat().st_mode & 0o777 == 0o700
    assert (top / "interpose" / "file").stat().st_mode & 0o777 == 0o600
    assert folder.read("file", 100) == b"text"


def test_below_the_home_without_the_variable(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert put(Folder(), "file")
    assert (tmp_path / ".cache" / "interpose" / "file").exists()


def test_no_home(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "missing"))
    assert not put(Folder(), "file")
    assert not (tmp_path / "missing").exists()


@pytest.mark.parametrize("name", ["relative", "./cache"])
def test_relative_names_are_refused(name, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", name)
    with pytest.raises(CacheError, match="absolute"):
        Folder()


@pytest.mark.parametrize("mode", [0o777, 0o770, 0o702])
@pytest.mark.parametrize("place", ["cache", "cache/interpose"])
def test_where_others_can_write(place, mode, tmp_path, top):
    (top / "interpose").mkdir(parents=True)
    (tmp_path / place).chmod(mode)
    with pytest.raises(CacheError, match="others can write"):
        Folder()


def test_what_is_no_folder_is_called_so(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    with pytest.raises(CacheError, match="not a folder"):
        Folder()


def test_why_nothing_can_be_kept(top, monkeypatch):
    folder = Folder()
    folder.check_writing()
    assert os.listdir(top / "interpose") == []

    def full(fd, data):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(CacheError, match="No space left"):
        folder.check_writing()
    assert os.listdir(top / "interpose") == []


def test_a_link_in_the_place_of_the_folder(tmp_path, top):
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    top.mkdir()
    (top / "interpose").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(CacheError):
        Folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_what_belongs_to_somebody_else(top):
    put(Folder(), "file")
    os.chown(top / "interpose" / "file", 1000, 1000)
    assert Folder().read("file", 100) is None
    os.chown(top / "interpose", 1000, 1000)
    with pytest.raises(CacheError, match="others can write"):
        Folder()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_another_effective_user(top):
    code = (
        "import os\nfrom interpose.cache.folder import *\nos.setresuid(0, 1000, 0)\n"
        "try: Folder()\nexcept CacheError as error: print(error)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert "effective user" in run.stdout, run.stderr


def test_files_that_are_not_trusted(tmp_path, top):
    folder = Folder()
    for name in ("written-by-others", "linked", "twice", "pipe"):
        put(folder, name)
    place = top / "interpose"
    (place / "written-by-others").chmod(0o620)
    (place / "linked").unlink()
    (place / "linked").symlink_to(place / "twice")
    os.link(place / "twice", tmp_path / "other-name")
    (place / "pipe").unlink()
    os.mkfifo(place / "pipe", 0o600)  # opening it must not wait for a writer
    for name in ("written-by-others", "linked", "twice", "pipe", "missing"):
        assert folder.read(name, 100) is None, name


def test_too_large(top):
    put(Folder(), "file", b"x" * 100)
    assert Folder().read("file", 99) is None


def test_nothing_half_of_a_writer_that_fails(top):
    folder = Folder()
    put(folder, "file", b"before")

    def fail(fd):
        os.write(fd, b"half")
        raise OSError(28, "No space left on device")

    assert not folder.replace("file", fail)
    assert not folder.replace("file", lambda fd: False)
    assert folder.read("file", 100) == b"before"
    assert os.listdir(top / "interpose") == ["file"]


def test_what_a_killed_writer_leaves_goes_in_time(top):
    folder = Folder()
    put(folder, "file")
    for name, age in ((".new-1-1", 3600), (".new-2-2", 5)):
        (top / "interpose" / name).write_bytes(b"half")
        os.utime(top / "interpose" / name, (time.time() - age,) * 2)
    folder.tidy(1 << 30)
    assert sorted(os.listdir(top / "interpose")) == [".new-2-2", "file"]


def test_what_was_not_used_for_longest_goes_first(top):
    folder = Folder()
    for age, name in enumerate(("now", "lately", "long-ago")):
        put(folder, name, b"x" * 1000)
        os.utime(top / "interpose" / name, (time.time() - 5000 * age,) * 2)
    folder.read("long-ago", 1 << 20)  # used again
    folder.tidy(2500)
    assert sorted(os.listdir(top / "interpose")) == ["long-ago", "now"]


def added(folder, name, size, most):
    """Whether the files were looked at behind a file of that size."""
    looked = []
    tidy = folder.tidy
    folder.tidy = lambda most: looked.append(most) or tidy(most)
    lock = folder.lock()
    put(folder, name, b"x" * size)
    folder.unlock(lock, most)
    del folder.tidy
    return bool(looked)


def test_files_are_looked_at_where_there_may_be_too_many(top, monkeypatch):
    """Thousands of them take longer than a short run."""
    folder = Folder()
    assert added(folder, "first", 1000, 2500), "nobody has yet"
    assert not added(folder, "second", 1000, 2500)
    assert not added(Folder(), "third", 400, 2500)
    assert added(folder, "fourth", 1000, 2500)
    assert sorted(os.listdir(top / "interpose")) == [".lock", "fourth", "second", "third"]
    assert not added(folder, "second", 50, 2500)
    for seconds, looks in ((500, False), (700, True), (-5, True)):
        now = time.time() + seconds
        monkeypatch.setattr(time, "time", lambda now=now: now)
        assert added(folder, "second", 1, 2500) is looks
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(top))


@pytest.mark.parametrize("text", [b"", b"much", b"1 2 3", b"-5 99999999999999999999", b"\xff" * 64])
def test_a_lock_that_says_nonsense(top, text):
    folder = Folder()
    put(folder, "file", b"x" * 1000)
    (top / "interpose" / ".lock").write_bytes(text)
    assert added(folder, "other", 1000, 1500)
    assert not added(folder, "other", 100, 1500)


def test_one_writer_after_the_other(top, monkeypatch):
    monkeypatch.setattr("interpose.cache.folder._PATIENCE_SECONDS", 0.05)
    first = Folder().lock()
    assert first >= 0
    assert Folder().lock() == -1
    os.close(first)
    assert Folder().lock() >= 0


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written(top):
    (top / "interpose").mkdir(parents=True, mode=0o700)
    (top / "interpose").chmod(0o500)
    folder = Folder()
    assert folder.lock() == -1
    assert not put(folder, "file")


def test_a_writer_that_is_killed(top):
    folder = Folder()
    put(folder, "file", b"before")
    child = os.fork()
    if child == 0:
        folder.replace("file", lambda fd: os.write(fd, b"half") and os.kill(os.getpid(), 9))
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 9
    assert folder.read("file", 100) == b"before"
