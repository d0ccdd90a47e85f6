# all go on together; each stops once, in whatever order
#program fork_family
set detach-on-fork off
set schedule-multiple on
break work
python
stopped = set()
for turn in range(40):
    alive = [inferior for inferior in gdb.inferiors() if inferior.pid]
    if not alive:
        break
    if gdb.selected_inferior().pid == 0:
        gdb.execute(f"inferior {alive[0].num}")
    gdb.execute("continue")
    thread = gdb.selected_thread()
    if thread is not None and thread.is_valid() and gdb.selected_frame().name() == "work":
        stopped.add((thread.num == 1, int(gdb.parse_and_eval("n"))))
print("stops:", sorted(stopped))
end
#: stops: \[\(True, 0\), \(True, 1\), \(True, 2\), \(True, 100\)\]
#status 10
