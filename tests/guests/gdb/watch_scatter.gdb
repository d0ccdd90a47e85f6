# elements that a mask register leaves out are no access
#needs avx512f
#flags -O1 -mavx512f
break main
continue
watch table[9]
continue
#: Hardware watchpoint 2: table\[9\]
#: New value = 9
frame function main
#: scatter\(0x000f\)
delete
rwatch table[1]
continue
#: Hardware read watchpoint 3: table\[1\]
frame function main
#: gather\(1\)
delete
continue
#: exited
#status 42
