"""Which files a program opens, and where in it: interpose --tool=none --hooks=trace_opens.py program

The C library has two functions for that on most systems; ``call.function`` tells which was called.
"""

import os

import interpose


@interpose.wrap("libc.so*", "open")
@interpose.wrap("libc.so*", "open64")
def opened(call, path: interpose.CString, flags: int) -> int:
    fd = call(path, flags)
    what = f"descriptor {fd}" if fd >= 0 else os.strerror(call.errno)
    print(f"{call.function}({path!r}): {what}")
    for frame in call.stack[:3]:
        print(f"    {frame}")
    return fd
