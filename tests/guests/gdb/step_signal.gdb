continue
#: received signal SIGUSR1
# the first instruction behind the delivery is the handler's
stepi
info symbol $pc
#: handler in section
continue
#: exited normally
