# a call of a function in a thread that is blocked: its system call begins again afterwards
python import threading
python threading.Timer(1, lambda: gdb.post_event(lambda: gdb.execute("interrupt"))).start()
continue
#: received signal SIGINT
print answer(14)
#: = 42
print (long)write(fds[1], "*", 1)
#: = 1
continue
#: exited with code 052
#status 42
