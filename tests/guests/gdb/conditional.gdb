break visit if n == 150
continue
#: Breakpoint 1, visit \(n=150\)
ignore 1 0
condition 1
ignore 1 20
continue
#: Breakpoint 1, visit \(n=171\)
info breakpoints
#: breakpoint already hit
delete
continue
#: exited normally
