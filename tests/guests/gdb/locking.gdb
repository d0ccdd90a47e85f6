break check
continue
finish
set scheduler-locking on
set var $before = turns[1]
next
next
print turns[1] == $before
#: = 1
print turns[0]
#: = [12]
set scheduler-locking off
continue
#: exited normally
