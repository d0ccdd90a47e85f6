break hop
continue
#: hop \(n=1\)
delete
tbreak 8
continue
#: main \(\)
print n
#: = 1
continue
#: exited with code 03
#status 3
