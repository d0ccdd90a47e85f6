continue
#: received signal SIGSEGV
#: \*where = 5
print $_siginfo._sifields._sigfault.si_addr
#: = \(void \*\) 0x0
set var where = &*(int*)($rsp - 256)
# the address is in a register by now
jump 4
#: exited with code 05
#status 5
