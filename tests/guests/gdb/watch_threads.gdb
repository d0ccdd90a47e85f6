watch shared
continue
#: New value = 1
continue
#: Old value = 1
#: New value = 2
info threads
#: work
continue
#: New value = 3
delete
continue
#: exited with code 03
#status 3
