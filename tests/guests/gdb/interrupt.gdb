# gdb's Ctrl-C comes from a thread of its own
python
import threading, time
def interrupt(text):
    """When the program has said that."""
    while text not in open("out").read():
        time.sleep(0.05)
    gdb.post_event(lambda: gdb.execute("interrupt"))
def wait(text):
    threading.Thread(target=interrupt, args=(text,)).start()
wait("computes")
end
continue
#: received signal SIGINT
print turns > 0
#: = 1
set var go = 1
python wait("sleeps")
continue
#: received signal SIGINT
backtrace
#: main
set var go = 2
continue
#: exited normally
#out sleeps
#out woken
