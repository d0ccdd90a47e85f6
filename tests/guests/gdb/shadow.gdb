break use
continue
print/x $rdis1
#: = 0x0
print/x $rsis1
#: = 0xffffffff
print/x $rdis2
#: = 0x0
print/x $xmm0s1
#: = 0x0
continue
#: exited normally
#options --vgdb-stop-at=startup --vgdb-shadow-registers=yes
#tools memcheck
