break twice
continue
#: Breakpoint 1, twice \(n=5\)
disable
print twice(21)
#: = 42
print half(5.0)
#: = 2.5
print recurse(10)
#: = 55
print name()
#: "by name"
set var n = 50
print (int)strlen("eleven char")
#: = 11
finish
#: = 100
print kept
#: = 5
set var kept = 9
continue
#: exited with code 011
#out ^100$
#status 9
#! SIGSEGV
