break 4
continue
#: n = 3
tbreak 5
jump 5
#: n = n
set var n = 7
until 6
#: return n
print n
#: = 70
delete
continue
#: exited with code 0106
#status 70
