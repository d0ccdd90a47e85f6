# stopped at startup
continue
#: received signal SIGTRAP
x/i $pc
#: <put\+\d+>:\tmovb +\$0x1,\(%rax\)
print kept
#: = 1
continue
x/i $pc
#: <add\+\d+>:\tmov +\(%rax\),%edx
print kept
#: = 7
continue
x/i $pc
#: <add\+\d+>:\tmov +%edx,\(%rax\)
continue
x/i $pc
#: <move\+\d+>:\trep movsb
print kept
#: = 9
continue
x/i $pc
#: <main\+\d+>:\tmovzbl +\(%rax\),%eax
print kept
#: = 10
continue
#: exited with code
#out ERROR SUMMARY: 8 errors from 5 contexts
#options --vgdb-error=0
#tools memcheck
#status 10
