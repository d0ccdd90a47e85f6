"""How long a program waits in which calls: interpose --tool=none --hooks=slow_calls.py program"""

import time

import interpose

spent: dict[str, tuple[int, float]] = {}


def measure(call):
    began = time.monotonic()
    try:
        call()
    finally:
        count, seconds = spent.get(call.function, (0, 0.0))
        spent[call.function] = count + 1, seconds + time.monotonic() - began


for name in ("read", "write", "poll", "select", "nanosleep", "clock_nanosleep", "connect", "fsync"):
    interpose.wrap("libc.so*", name)(measure)


@interpose.wrap("libc.so*", "exit")
def at_exit(call, status: int) -> None:
    for name, (count, seconds) in sorted(spent.items(), key=lambda item: -item[1][1]):
        print(f"{seconds:9.3f} s in {count:6} calls of {name}")
    call(status)
