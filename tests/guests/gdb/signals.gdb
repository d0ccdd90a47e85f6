handle SIGALRM nostop noprint pass
continue
#: received signal SIGUSR1
print $_siginfo.si_signo
#: = 10
# passed
continue
#: received signal SIGUSR1
# dropped
signal 0
#: received signal SIGUSR1
# another one
signal SIGUSR2
#: received signal SIGTERM
print usr1
#: = 1
print alarmed
#: = 1
continue
#: terminated with signal SIGTERM
#out usr1 1 usr2 1 alarm 1
#status -15
