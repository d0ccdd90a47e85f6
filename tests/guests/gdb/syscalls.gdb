catch syscall getppid
continue
#: call to syscall getppid
print $rax
#: = -38
print $orig_rax
#: = 110
continue
#: returned from syscall getppid
print $rax > 0
#: = 1
continue
#: call to syscall getppid
delete
set $at = $pc
stepi
print $pc == $at
#: = 1
stepi
print $pc == $at
#: = 0
continue
#: exited normally
