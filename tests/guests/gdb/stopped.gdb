# a blocked signal is the program's alone: sigwait takes it
handle SIGCHLD nostop noprint pass
continue
#: exited with code 012
#! received signal
#status 10
