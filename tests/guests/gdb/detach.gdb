break step
continue
#: Breakpoint 1(\.1)?, step \(n=0\)
set var go = 1
detach
#: detached
#out detached
#status 3
