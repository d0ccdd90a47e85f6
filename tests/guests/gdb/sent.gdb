#out came 10
#status -15
break here
continue
#: Breakpoint 1, here
signal SIGUSR1
#: Breakpoint 1, here
print came
#! received signal SIGUSR1
signal SIGUSR2
#: Breakpoint 1, here
signal SIGTERM
#! received signal SIGTERM
#: terminated with signal SIGTERM
