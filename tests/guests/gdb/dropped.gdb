# a signal that the debugger drops, or that is ignored, breaks no system call off
handle SIGUSR1 nostop print nopass
handle SIGWINCH nostop print pass
handle SIGCHLD nostop noprint pass
handle SIGUSR2 nostop noprint pass
continue
#: received signal SIG(USR1|WINCH)
#: exited normally
#out ^nanosleep 0
#out poll 0
#out sigsuspend and read 1
