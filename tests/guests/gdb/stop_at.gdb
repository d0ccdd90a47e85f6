info symbol $pc
#: _start
continue
#: exit
backtrace
#: main
continue
#: exited with code 04
#options --vgdb-stop-at=startup,abexit
#status 4
#out \(action at startup\) vgdb me
#out \(action at abexit\) vgdb me
