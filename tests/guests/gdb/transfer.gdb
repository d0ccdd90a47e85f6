# with a sysroot that begins with target: the server has the program's files, too
#program files
#before set sysroot target:/
break stop
continue
#: Reading .*/libc\.so\.6 from remote target
#: Breakpoint 1, stop
info sharedlibrary
#: Yes .*target:.*/libc\.so\.6
backtrace
#: main
kill
