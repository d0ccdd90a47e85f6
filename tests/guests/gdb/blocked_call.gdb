# a call of a function in a thread that is blocked: its system call begins again afterwards
python
import threading, time
def watch(pid):
    while "reads" not in open("out").read():
        time.sleep(0.05)
    while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.05)
    gdb.post_event(lambda: gdb.execute("interrupt"))
threading.Thread(target=watch, args=(gdb.selected_inferior().pid,)).start()
end
continue
#: received signal SIGINT
print answer(14)
#: = 42
print (long)write(fds[1], "*", 1)
#: = 1
continue
#: exited with code 052
#status 42
