# signals that the program ignores, or whose default that is, are told as the kernel tells a debugger of them: not SIGCHLD
# where that is ignored, nor what is discarded; those that are blocked wait for the program
catch signal SIGCHLD
handle SIGWINCH stop print pass
handle SIGUSR1 stop print pass
handle SIGUSR2 stop print pass
handle SIGCONT stop print pass
python
stops = []
while gdb.selected_inferior().pid:
    gdb.execute("continue")
    if gdb.selected_inferior().pid:
        frame = gdb.newest_frame()
        while frame.name() != "main":
            frame = frame.older()
        stops.append((int(gdb.parse_and_eval("$_siginfo.si_signo")), frame.find_sal().line))
print("stops", stops)
end
#: stops \[\(17, 9\), \(17, 9\), \(28, 11\), \(10, 16\), \(17, 34\), \(18, 35\)\]
#out pending 1
#out sigwait 17
