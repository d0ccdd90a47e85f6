# the child, of which gdb knows nothing, does not wait for it
continue
#: SIGTRAP
#: _exit
#! SIGTERM
continue
#: exited with code 03
#options --vgdb-stop-at=startup,exit
#status 3
