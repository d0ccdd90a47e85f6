break all_here
continue
#: Breakpoint 1, all_here
info threads
#: Thread .*worker-0
#: Thread .*worker-1
#: Thread .*worker-2
print own
#: = 3
thread 2
print own
#: = 100
backtrace
#: work
thread 3
print own
#: = 101
thread apply all -q print own
#: = 102
#: = 101
#: = 100
#: = 3
thread 2
set scheduler-locking on
stepi
stepi
stepi
set scheduler-locking off
thread 1
next
continue
#: exited normally
#out joined
