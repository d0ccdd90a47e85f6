# elements by vector registers and masks; memory of ioctl and poll
#needs avx2
#flags -O1 -mavx2
break main
continue
delete
rwatch table[41]
continue
#: Hardware read watchpoint 2: table\[41\]
frame function gather
#: gather
rwatch table[17]
continue
#: Hardware read watchpoint 3: table\[17\]
frame function gather_some
#: gather_some
delete
watch out[1]
watch out[4]
continue
#: Hardware watchpoint 5: out\[4\]
#: New value = -1
frame function store_some
#: store_some
delete
awatch out[3]
awatch out[6]
continue
#: Hardware access .read/write. watchpoint 7: out\[6\]
delete
watch count
continue
#: Hardware watchpoint 8: count
#: New value = 3
frame function main
#: /\* asks \*/
delete
watch polled[1].revents
continue
#: Hardware watchpoint 9: polled\[1\]\.revents
#: New value = 1
frame function main
#: /\* polls \*/
delete
continue
#: exited with code 025
#status 21
