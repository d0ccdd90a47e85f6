# two children and a grandchild, each taken on in its turn
set detach-on-fork off
break work
continue
#: New inferior 2
#: New inferior 3
#: hit Breakpoint 1.*, work \(n=0\)
info inferiors
#: \* 1 +process
#:   2 +process
#:   3 +process
inferior 2
continue
#: New inferior 4
#: hit Breakpoint 1.*, work \(n=1\)
inferior 4
continue
#: hit Breakpoint 1.*, work \(n=100\)
finish
#: Value returned is \$1 = 101
inferior 3
continue
#: hit Breakpoint 1.*, work \(n=2\)
info threads
#:   1\.1 .*work \(n=0\)
#:   2\.1 .*work \(n=1\)
#: \* 3\.1 .*work \(n=2\)
#:   4\.1 .*main
inferior 1
detach
#: Inferior 1 .* detached
inferior 4
continue
#: Inferior 4 .* exited with code 07
inferior 2
print $rip == $pc
#: = 1
detach
#: Inferior 2 .* detached
inferior 3
backtrace
#: work \(n=2\)
detach
#: Inferior 3 .* detached
#status 10
