# gdb's ways of going elsewhere, in the order and with the answers of a native session
tbreak main
continue
tbreak inner
continue
#: Temporary breakpoint 2, inner \(n=1\)
info breakpoints
#: No breakpoints(?: or|,) watchpoints
return 50
next
#: main \(\) at .*:13
print a
#: \$1 = 51
advance 14
#: main \(\) at .*commands\.c:14
print total
#: \$2 = 3
tbreak 13
jump 13
#: Temporary breakpoint 3, main \(\) at .*:13
until 14
#: main \(\) at .*:14
print total
#: \$3 = 6
rbreak ^alpha_
#: int alpha_one\(void\);
#: int alpha_two\(void\);
continue
#: Breakpoint 4, alpha_one
continue
#: Breakpoint 5, alpha_two
delete
break inner
python
try:
    gdb.execute("print outer(7)")
except gdb.error as error:
    print("stopped:", error)
end
#: Breakpoint 6, inner \(n=7\)
#: stopped: The program being debugged stopped while in a function called from GDB
finish
#: Value returned is \$4 = 14
finish
#: Value returned is \$5 = 15
delete
handle SIGUSR1 nostop noprint pass
break handler
continue
#: Breakpoint 7, handler
backtrace
#: handler
#: <signal handler called>
#: main
finish
#: signal handler called
delete
tbreak 17
continue
#: Temporary breakpoint 8, main
record
next
next
print a
#: \$6 = 64
reverse-next
reverse-next
print a
# Back at the recording's begin, which gdb 18 no longer says.
#: No more reverse-execution history|^17\t
#: \$7 = 59
record stop
#: Process record is stopped
continue
#: exited with code 03
#status 3
