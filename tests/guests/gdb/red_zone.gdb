#: Breakpoint 1, leaf \(x=3\)
#: \$1 = 8
#: exited normally
#! Use of uninitialised
#! SIGTRAP
#options --vgdb-error=0
#out 4
break leaf
continue
print helper(7)
continue
