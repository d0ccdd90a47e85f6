"""Every N-th allocation fails: FAIL_EVERY=100 interpose --tool=memcheck --hooks=failing_malloc.py program

Programs seldom run out of memory while they are tested; what they do then is seldom right.
"""

import errno
import os

import interpose

every = int(os.environ.get("FAIL_EVERY", "1000"))
count = 0


@interpose.wrap("libc.so*", "malloc")
def malloc(call, size: interpose.Size) -> interpose.Pointer:
    global count
    count += 1
    if count % every:
        return call(size)
    print(f"malloc({size}) fails for {call.stack[0]}")
    call.errno = errno.ENOMEM
    return 0
