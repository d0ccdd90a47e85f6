break main
continue
watch area.here
#: Hardware watchpoint 2: area.here
continue
#: Hardware watchpoint 2: area.here
#: Old value = 0
#: New value = 5
#: other = 2;
print $_siginfo.si_signo * 1000 + $_siginfo.si_code
#: = 5004
continue
#: Old value = 5
#: New value = 6
delete 2
rwatch area.here
continue
#: Hardware read watchpoint 3: area.here
#: Value = 6
delete 3
# any length
watch area.behind
continue
#: Hardware watchpoint 4: area.behind
print area.behind[100]
#: = 1
delete 4
awatch area.behind
continue
#: Hardware access .read/write. watchpoint 5: area.behind
#: look \(\)
delete 5
watch text[7]
continue
#: Hardware watchpoint 6: text\[7\]
#: 120 'x'
print text[8]
#: = 0
delete 6
watch area.here
watch area.behind[4095]
watch other
continue
#: Hardware watchpoint 7: area.here
#: Old value = 6
#: New value = 0
delete
tbreak marked
continue
watch *(long *)($rsp - 8)
continue
#! Could not insert
delete
continue
#: exited normally
#out ^6$
