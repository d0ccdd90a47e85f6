# each error stops before its instruction, whatever that changes, with what it reads
#tools memcheck
#options --vgdb-error=0 --vgdb-shadow-registers=yes
continue
x/i $pc
#: <load>:\s+mov +\(%rdi\),%rdi
print $rdi == $rdx
#: = 1
stepi
print $rdi == *(long *)$rdx
#: = 1
continue
x/i $pc
#: <add>:\s+add +\(%rdi\),%rdi
continue
x/i $pc
#: <multiply>:\s+imul +\(%rdi\),%rdi
continue
x/i $pc
#: <after_add\+4>:\s+je
continue
x/i $pc
#: <after_cmov\+11>:\s+je
continue
x/i $pc
#: <pop\+1>:\s+pop +\(%rdi\)
print *(long *)$rsp == $rdx
#: = 1
stepi
print *(long *)$rdi == $rdx
#: = 1
continue
x/i $pc
#: <exchange_add\+5>:\s+xadd
print $rax
#: = 1
continue
x/i $pc
#: <string\+3>:\s+lods
print $rsi == $rdx
#: = 1
stepi
print $rsi == (long)$rdx + 1
#: = 1
continue
x/i $pc
#: <exchange\+5>:\s+xchg
print $eax
#: = 7
stepi
print $eax == 7
#: = 0
continue
x/i $pc
#: <loops\+11>:\s+loop
print $rcx
#: = 2
stepi
print $rcx
#: = 1
continue
#: exited normally
