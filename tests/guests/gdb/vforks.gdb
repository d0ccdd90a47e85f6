# all of the family: its exec, its ends, and the parents behind
#options --vgdb-stop-at=startup --trace-children=yes
set detach-on-fork off
set schedule-multiple on
catch vfork
catch exec
break said
python
ended = []
gdb.events.exited.connect(lambda event: ended.append(event.inferior.num))
def ends():
    """Go on until one ends; the values that those gave who stopped in the function meanwhile."""
    where = []
    before = len(ended)
    while len(ended) == before:
        alive = [inferior for inferior in gdb.inferiors() if inferior.pid]
        if gdb.selected_inferior().pid == 0:
            gdb.execute(f"inferior {alive[0].num}")
        gdb.execute("continue")
        if len(ended) == before and gdb.selected_frame().name() == "said":
            where.append((gdb.selected_inferior().num, int(gdb.parse_and_eval("n"))))
    return where
end
continue
#: Catchpoint 1 \(vforked process
info registers rax
continue
#: New inferior 2
#: is executing new program: .*/vforks
#: hit Catchpoint 2 \(exec'd
info threads
#:   1\.1 .*
#: \* 2\.1 .*_start
python print("then", ends())
#: hit Catchpoint 1 \(vforked process
#: New inferior 3
#: hit Catchpoint 2 \(exec'd
#: hit Breakpoint 3.*said \(n=40\)
#: Inferior 3 .* exited with code 051
#: then \[\(3, 40\)\]
python print("then", ends())
#: Inferior 2 .* exited with code 053
#: then \[\(2, 41\)\]
python print("then", ends())
#: Catchpoint 1 \(vforked process
#: New inferior 4
#: Inferior 4 .* exited with code 07
#: then \[\(1, 43\)\]
python print("then", ends())
#: New inferior 5
#: Inferior 5 .* exited with code 010
#: then \[\(1, 7\)\]
python print("then", ends())
#: New inferior 6
#: Program terminated with signal SIGKILL
#: then \[\(1, 8\)\]
python print("then", ends())
#: Inferior 1 .* exited with code 03
#: then \[\(1, 109\)\]
#status 3
#out sum 171
