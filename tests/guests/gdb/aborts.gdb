continue
#: received signal SIGABRT
backtrace
#: abort
#: fail
#: main
continue
#: terminated with signal SIGABRT
#status -6
