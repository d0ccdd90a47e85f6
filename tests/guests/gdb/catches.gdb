break common
catch fork
catch vfork
catch exec
continue
#: Catchpoint 2 \(forked process [0-9]+\)
info inferiors
#: \* 1 +process
continue
#: Detaching after fork from child
#: Catchpoint 3 \(vforked process [0-9]+\)
continue
#: Detaching after vfork from child
#: Breakpoint 1, common \(n=23\)
continue
#: Catchpoint 4 \(exec'd .*/catches\)
continue
#: Breakpoint 1, common \(n=9\)
continue
#: exited with code 012
#options --vgdb-stop-at=startup --trace-children=yes
#status 10
