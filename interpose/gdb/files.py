"""Files of the program's machine for the debugger: ``vFile``, "Host I/O Packets" of GDB's manual.

They are read with the supervisor's rights, which are those of whoever started the program, and as the
program sees them: from its root on, and its mappings without ours.  Nothing is written: what reaches the
server may come over a port, and a debugger writes through the program whatever that may write.
"""

from __future__ import annotations

import errno
import os
import stat
import struct

from interpose.gdb.mappings import mappings
from interpose.gdb.packets import PACKET_SIZE
from interpose.gdb.queries import program_path
from interpose.jit._native import lib

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from interpose.gdb.family import Child
    from interpose.gdb.server import Server

_PROBE = b"just probing"
"""What gdb opens to find out whether it has to fetch the program's files from here, where nobody has set a
sysroot. It is told no: so it takes them from its own file system, as with Valgrind. That is most often the
same one, and to fetch a C library takes seconds. With a sysroot that was set it does not ask."""
_MOST_FILES = 64
_PIECE = PACKET_SIZE // 2 - 32  # of a file in one reply: an escape doubles a byte
_TO_WRITE = 0x1 | 0x2 | 0x8 | 0x200 | 0x400  # O_WRONLY, O_RDWR, O_APPEND, O_CREAT, O_TRUNC of the protocol
_UNKNOWN = 9999  # EUNKNOWN of the protocol
_NUMBERS = {
    errno.EPERM: 1,
    errno.ENOENT: 2,
    errno.EINTR: 4,
    errno.EBADF: 9,
    errno.EACCES: 13,
    errno.ENODEV: 19,
    errno.ENOTDIR: 20,
    errno.EISDIR: 21,
    errno.EINVAL: 22,
    errno.ENFILE: 23,
    errno.EMFILE: 24,
    errno.EFBIG: 27,
    errno.EROFS: 30,
    errno.ENAMETOOLONG: 91,
}
"""What the protocol calls them ("Errno Values" in GDB's manual)."""

_NAME_COLUMN = 73
_LONGEST_TEXT = 1 << 24


def _failed(number: int) -> bytes:
    return b"F-1,%x" % _NUMBERS.get(number, _UNKNOWN)


class Files:
    """What a conversation has open: descriptors, or texts of our own, by small numbers."""

    def __init__(self) -> None:
        self._open: dict[int, int | bytes] = {}
        self.system = 0
        """Process whose files they are (``setfs``); 0: ours."""

    def add(self, what: int | bytes) -> int:
        """Its number from now on; an OSError if there are too many."""
        number = next(number for number in range(_MOST_FILES + 1) if number not in self._open)
        if number == _MOST_FILES:
            if isinstance(what, int):
                os.close(what)
            raise OSError(errno.EMFILE, "")
        self._open[number] = what
        return number

    def get(self, number: int) -> int | bytes:
        """What is open there; an OSError if nothing is."""
        if number not in self._open:
            raise OSError(errno.EBADF, "")
        return self._open[number]

    def close(self, number: int) -> None:
        what = self.get(number)
        del self._open[number]
        if isinstance(what, int):
            os.close(what)

    def close_all(self) -> None:
        """The conversation is over, or this is a copy of it."""
        for number in list(self._open):
            self.close(number)


# -- names ---------------------------------------------------------------------------------------


def _name(text: bytes) -> bytes:
    name = bytes.fromhex(text.decode("ascii"))
    if not name or b"\0" in name:
        raise OSError(errno.ENOENT, "")
    return name


def _place(name: bytes, system: int) -> int:
    """The file of that name, as ``O_PATH``: nothing happens to it yet, whatever it is."""
    if system and not name.startswith(b"/proc/"):  # whose links lead out of any root
        fd = _place_in_root(name, system)
        if fd >= 0:
            return fd
    return os.open(name, os.O_PATH | os.O_CLOEXEC)


def _place_in_root(name: bytes, system: int) -> int:
    """The same, as that process sees it; -1: the kernel cannot say."""
    try:
        root = os.open(f"/proc/{system}/root", os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return -1
    fd = int(lib.ip_place_in(root, name))
    os.close(root)
    if fd in (-errno.ENOSYS, -errno.EPERM):  # before Linux 5.6, or filtered
        return -1
    if fd < 0:
        raise OSError(-fd, "")
    return fd


def _opened(name: bytes, system: int) -> int:
    place = _place(name, system)
    try:
        mode = os.fstat(place).st_mode
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, "")
        if not stat.S_ISREG(mode):  # a device may do something when it is opened, a FIFO waits
            raise OSError(errno.EACCES, "")
        return os.open(f"/proc/self/fd/{place}", os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    finally:
        os.close(place)


# -- texts of ours --------------------------------------------------------------------------------


def _maps(server: Server) -> bytes:
    """``/proc/PID/maps`` as the program reads it (proc_pid_maps(5))."""
    lines = []
    for each in mappings(server):
        where = f"{os.major(each.device):02x}:{os.minor(each.device):02x} {each.inode} "
        sharing = "s" if each.shared else "p"
        line = f"{each.begin:08x}-{each.end:08x} {each.rights}{sharing} {each.offset:08x} {where}"
        lines.append(line.ljust(_NAME_COLUMN).encode() + each.name if each.name else line.encode())
    return b"".join(line + b"\n" for line in lines)


def _text(server: Server, name: bytes) -> bytes | None:
    """What is told of ``/proc/PID`` in the place of the kernel's text; None: that is as good."""
    words = name.split(b"/")
    if words[:2] != [b"", b"proc"] or len(words) < 4 or not words[2].isdigit():
        return None
    if len(words) == 6 and words[3] == b"task":
        words[3:] = words[5:]
    if len(words) != 4:
        return None
    if (child := server.children.get(int(words[2]))) is not None:
        return _childs(child, name)
    if int(words[2]) != server.supervisor.client.pid:
        return None
    if words[3] == b"maps":
        return _maps(server)
    if words[3] in (b"smaps", b"numa_maps", b"smaps_rollup"):  # a debugger does without
        raise OSError(errno.ENOENT, "")
    return None


def _childs(child: Child, name: bytes) -> bytes | None:
    """A text that the child's server has; None if that has a file."""
    handle, _, _ = child.ask(b"vFile:open:%b,0,0" % name.hex().encode())[1:].partition(b",")
    if handle.startswith(b"-") or not handle:
        raise OSError(errno.ENOENT, "")
    parts: list[bytes] = []
    while True:
        head, _, part = child.ask(b"vFile:pread:%b,%x,%x" % (handle, _PIECE, sum(map(len, parts)))).partition(
            b";"
        )
        if not part or head.startswith(b"F-") or sum(map(len, parts)) > _LONGEST_TEXT:
            break
        parts.append(part)
    child.ask(b"vFile:close:%b" % handle)
    return b"".join(parts)


# -- packets -------------------------------------------------------------------------------------


def _set_system(server: Server, rest: bytes) -> bytes:
    process = int(rest, 16)
    known = {0, server.supervisor.client.pid, *server.children}
    if process not in known:
        return _failed(errno.EPERM)
    server.files.system = process
    return b"F0"


def _open(server: Server, rest: bytes) -> bytes:
    name, flags, _mode = rest.split(b",")
    path = _name(name)
    if path == _PROBE:
        return b""
    if int(flags, 16) & _TO_WRITE:
        return _failed(errno.EROFS)
    text = _text(server, path)
    what = _opened(path, server.files.system) if text is None else text
    return b"F%x" % server.files.add(what)


def _read(server: Server, rest: bytes) -> bytes:
    number, count, offset = (int(word, 16) for word in rest.split(b","))
    what = server.files.get(number)
    if count < 0 or not 0 <= offset < 1 << 63:
        return _failed(errno.EINVAL)
    count = min(count, _PIECE)
    data = what[offset : offset + count] if isinstance(what, bytes) else os.pread(what, count, offset)
    return b"F%x;%b" % (len(data), data)


def _close(server: Server, rest: bytes) -> bytes:
    server.files.close(int(rest, 16))
    return b"F0"


_STAT = struct.Struct(">7I3Q3I")


def _stat(server: Server, rest: bytes) -> bytes:
    what = server.files.get(int(rest, 16))
    if isinstance(what, bytes):
        told = _STAT.pack(0, 0, stat.S_IFREG | 0o444, 1, 0, 0, 0, len(what), 4096, 0, 0, 0, 0)
        return b"F%x;%b" % (len(told), told)
    info = os.fstat(what)
    words = (info.st_dev, info.st_ino, info.st_mode, info.st_nlink, info.st_uid, info.st_gid, info.st_rdev)
    times = (info.st_atime, info.st_mtime, info.st_ctime)
    told = _STAT.pack(
        *(word & 0xFFFFFFFF for word in words),
        info.st_size,
        info.st_blksize,
        info.st_blocks,
        *(int(time) & 0xFFFFFFFF for time in times),
    )
    return b"F%x;%b" % (len(told), told)


def _read_link(server: Server, rest: bytes) -> bytes:
    name = _name(rest)
    if name == b"/proc/%d/exe" % server.supervisor.client.pid:  # may be the runtime's
        target = program_path(server)
    else:
        target = _link(name, server.files.system)
    return b"F%x;%b" % (len(target), target)


def _link(name: bytes, system: int) -> bytes:
    folder, _, last = name.rpartition(b"/")
    if not folder or not last:
        return os.readlink(name)
    place = _place(folder, system)
    try:
        return os.readlink(last, dir_fd=place)
    finally:
        os.close(place)


def _refuse(server: Server, rest: bytes) -> bytes:
    return _failed(errno.EROFS)


_OPERATIONS: dict[bytes, Callable[[Server, bytes], bytes]] = {
    b"setfs": _set_system,
    b"open": _open,
    b"pread": _read,
    b"close": _close,
    b"fstat": _stat,
    b"readlink": _read_link,
    b"pwrite": _refuse,
    b"unlink": _refuse,
}


def host_files(server: Server, rest: bytes) -> bytes:
    """``vFile:OPERATION:ARGUMENTS``."""
    operation, _, arguments = rest.partition(b":")
    if operation not in _OPERATIONS:
        return b""
    try:
        return _OPERATIONS[operation](server, arguments)
    except OSError as error:
        return _failed(error.errno or errno.EINVAL)
    except (ValueError, IndexError, OverflowError):
        return _failed(errno.EINVAL)
