# accesses by the kernel
break main
continue
watch buffer[10]
continue
#: Hardware watchpoint 2: buffer\[10\]
#: New value = 101 'e'
frame function main
#: /\* first \*/
delete 2
rwatch buffer[10]
continue
#: Hardware read watchpoint 3: buffer\[10\]
#: Value = 101 'e'
frame function main
#: /\* second \*/
delete 3
awatch buffer[10]
continue
#: Hardware access .read/write. watchpoint 4: buffer\[10\]
frame function main
#: /\* third \*/
continue
#: Hardware access .read/write. watchpoint 4: buffer\[10\]
frame function main
#: /\* fourth \*/
continue
#: Hardware access .read/write. watchpoint 4: buffer\[10\]
frame function main
#: /\* fifth \*/
delete 4
watch status.st_mode
continue
#: Hardware watchpoint 5: status\.st_mode
#: Old value = 0
frame function main
#: /\* sixth \*/
delete 5
watch other[60]
continue
#: exited with code 05
#status 5
