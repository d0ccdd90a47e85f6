# the child is not followed: breakpoints are the parent's alone
break common
continue
#: Breakpoint 1, common \(n=77\)
continue
#: exited with code 05
#status 5
