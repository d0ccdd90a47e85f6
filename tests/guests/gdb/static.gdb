break f
continue
#: Breakpoint 1, f \(n=3\)
disable
print f(10)
#: = 14
continue
#: exited normally
#out ^7$
#flags -static
