# gdb's Ctrl-C comes from a thread of its own
python import threading, os, signal
python wait = lambda s: threading.Timer(s, lambda: gdb.post_event(lambda: gdb.execute("interrupt"))).start()
python wait(1)
continue
#: received signal SIGINT
print turns > 0
#: = 1
set var go = 1
python wait(1)
continue
#: received signal SIGINT
backtrace
#: main
set var go = 2
continue
#: exited normally
#out sleeps
#out woken
