# stopped at startup
print $_exitcode
continue
#: received signal SIGTRAP
#: if \(p\[5\]\)
set var p[5] = 0
continue
#: received signal SIGTRAP
#: p\[12\] = 2
x/i $pc
#: movb +\$0x2,\(%rax\)
print p
print (int)abs(-3)
#: = 3
continue
#: received signal SIGTRAP
#: return \*q
continue
#: exited with code
#out \(action at startup\) vgdb me \.\.\. $
#out Conditional jump
#out \(action on error\) vgdb me \.\.\. $
#out Continuing \.\.\.$
#out Invalid write of size 1
#out \(action on error\) vgdb me
#out Continuing
#out Invalid read of size 4
#out ERROR SUMMARY: 3 errors from 3 contexts
#options --vgdb-error=0
#tools memcheck
#status 3
