set breakpoint pending on
break cbrt
#: pending
continue
#: Breakpoint 1, .*cbrt
backtrace
#: main
info sharedlibrary
#: libm
finish
delete
continue
#: exited with code 03
#status 3
