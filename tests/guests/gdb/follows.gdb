#options --vgdb-stop-at=startup --trace-children=yes
#link breakpoint
catch exec
break before
continue
#: Breakpoint 2, before
continue
#: is executing new program: .*/breakpoint
#: Catchpoint 1 \(exec'd
delete
break add
continue
#: add \(n=1\)
print total
#: = 0
delete
continue
#: exited with code 07
#status 7
#out total 15
