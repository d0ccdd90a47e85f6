# both at once; the parent ends first, and the child goes on under the same gdb
set detach-on-fork off
set schedule-multiple on
break mine
break childs
continue
#: New inferior 2
#: hit Breakpoint 1.*, mine \(n=5\)
info threads
#: \* 1\.1 .*mine
#:   2\.1 .*
thread 2.1
#: Switching to thread 2\.1
backtrace
#: main
print $rip == $pc
#: = 1
thread 1.1
continue
#: Inferior 1 .* exited with code 04
info inferiors
#: process
inferior 2
continue
#: hit Breakpoint 2.*, childs \(n=8\)
finish
#: Value returned is \$[0-9]+ = 16
continue
#: hit Breakpoint 2.*, childs \(n=6\)
continue
#: Inferior 2 .* exited with code 014
#status 4
