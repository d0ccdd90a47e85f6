break common
continue
#: Breakpoint 1, common \(n=7\)
continue
#: exited normally
