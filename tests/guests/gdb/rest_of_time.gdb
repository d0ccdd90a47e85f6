# calls that sleep for 10 seconds are stopped for as long: they are over when the program goes on
#tools none
python
import os, threading, time
def watch(pid):
    folder, calm = f"/proc/{pid}/task", 0
    while calm < 40:  # all threads sleep, again and again
        time.sleep(0.05)
        tasks = os.listdir(folder)
        calm = calm + 1 if len(tasks) == 9 and all(
            open(f"{folder}/{task}/stat").read().rpartition(")")[2].split()[0] == "S" for task in tasks
        ) else 0
    gdb.post_event(lambda: gdb.execute("interrupt"))
threading.Thread(target=watch, args=(gdb.selected_inferior().pid,)).start()
end
continue
#: received signal SIGINT
shell sleep 10
python gdb.execute(f"set var resumed = {time.monotonic()}")
continue
#: exited normally
