# the same block has the same origin
break use
continue
print $rdis1 == $rsis1 && $rdis1 != 0 && $rcxs1 == 0
#: = 1
print $rdis2 != 0 && $rdis2 == $rdxs2 && $rdis2 != $rsis2 && $rsis2 != 0
#: = 1
print/x $rcxs2
#: = 0x0
continue
#: exited normally
#options --vgdb-stop-at=startup --vgdb-shadow-registers=yes --track-origins=yes
#tools memcheck
