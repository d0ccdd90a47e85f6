# what was set before an exec holds behind it
#program follows
#options --vgdb-stop-at=startup --trace-children=yes
#link breakpoint
catch syscall write
continue
#: is executing new program: .*/breakpoint
#: Catchpoint 1 \(call to syscall write\)
continue
#: Catchpoint 1 \(returned from syscall write\)
delete
continue
#: exited with code 07
#status 7
#out total 15
