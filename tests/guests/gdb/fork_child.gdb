# the child alone, from the fork on; the parent ends meanwhile, and its files go
set follow-fork-mode child
break common if n == 3 || n == 6 || n > 40
continue
#: Detaching after fork from parent process
#: hit Breakpoint 1, common \(n=3\)
backtrace
#: main \(\)
print common(7)
#: = 8
monitor v.info n_errs_found
#: n_errs_found 0
info inferiors
#: \* 2 +process
watch watched
continue
#: Hardware watchpoint 2: watched
#: New value = 7
delete 2
# its own child
continue
#: Detaching after fork from parent process
#: hit Breakpoint 1.*, common \(n=50\)
continue
#: Inferior 3 .* exited with code 063
#! n=99
#out the child is through
#status 2
