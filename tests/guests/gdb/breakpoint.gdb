break add
continue
#: Breakpoint 1, add \(n=1\)
backtrace
#: #1 .* main \(\)
continue
#: Breakpoint 1, add \(n=2\)
finish
#: Value returned is \$1 = 3
delete 1
tbreak add if n == 4
continue
#: Temporary breakpoint 2, add \(n=4\)
print total
#: = 6
next
#: return total;
print total
#: = 10
step
step
#: add \(n=5\)
continue
#: exited with code 07
#out total 15
#status 7
