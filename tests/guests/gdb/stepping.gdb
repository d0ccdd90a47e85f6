break marked
continue
#: Breakpoint 1, .* in count
# as the kernel tells a debugger: SI_KERNEL, and TRAP_TRACE where the pc is
print $_siginfo.si_signo * 1000 + $_siginfo.si_code
#: = 5128
delete
stepi
print $_siginfo.si_signo * 1000 + $_siginfo.si_code
#: = 5002
print $_siginfo._sifields._sigfault.si_addr == $pc
#: = 1
x/i $pc
#: pushf
print $rax
#: = 1
stepi
stepi
# the trap flag of the step is not in what was pushed
print ($rdx & 0x100) == 0
#: = 1
stepi 2
print (char*)$pc - (char*)&marked
#: = 0
print $rax
#: = 1
break copied
continue
#: Breakpoint 2
stepi
print (char*)$pc - (char*)&copied
#: = 0
print $rcx
#: = 2
stepi
stepi
print (char*)$pc - (char*)&behind
#: = 0
print (char*)to
#: "twe"
until
continue
#: exited normally
