break depth if n == 2
continue
#: depth \(n=2\)
backtrace
#: #4 .*depth \(n=6\)
up 3
print own
#: = 50
frame 0
finish
#: Value returned is .* = 3
up
advance depth
delete
continue
#: exited with code 025
#status 21
