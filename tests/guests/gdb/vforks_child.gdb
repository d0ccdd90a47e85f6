# the child and its child, each alone; the parents go on by themselves
#program vforks
#options --vgdb-stop-at=startup --trace-children=yes
set follow-fork-mode child
catch exec
break said
continue
#: Attaching after .* vfork to child
#: Detaching vfork parent process .* after child exec
#: hit Catchpoint 1 \(exec'd .*/vforks
delete 1
continue
#: Attaching after .* vfork to child
#: is executing new program: .*/vforks
#: hit Breakpoint 2.*, said \(n=40\)
backtrace
#: main \(argc=2
finish
#: Value returned is \$1 = 41
continue
#: Inferior 3 .* exited with code 051
info inferiors
#: <null>
#status 3
#out sum 171
