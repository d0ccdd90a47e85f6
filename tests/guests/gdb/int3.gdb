# the program's own
continue
#: received signal SIGTRAP
signal SIGTRAP
#: exited with code 01
#status 1
