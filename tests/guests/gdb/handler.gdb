handle SIGUSR1 nostop noprint pass
break handler
continue
#: Breakpoint 1, handler \(s=10
backtrace
#: <signal handler called>
#: main
finish
#: <signal handler called>
stepi
delete
continue
#: exited normally
