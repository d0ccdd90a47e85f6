break ready
continue
break *((char *)place + 5)
delete 1
continue
#: Breakpoint 2,
print $eax
#: = 1
# the program writes the code anew, the breakpoint stays
continue
#: Breakpoint 2,
print $eax
#: = 2
print *(unsigned char *)$pc
#: = 144
continue
delete
continue
#: exited with code 06
#status 6
