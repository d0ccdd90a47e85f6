break use
continue
print/x $rdis1
#: = 0x0
print/x $rsis1
#: = 0xffffffff
print/x $rdis2
#: = 0x0
print/x $xmm0s1
#: v4_int32 = \{0x0, 0x0, 0x0, 0x0\}.*uint128 = 0x0
print/x $xmm0s1.v2_int64[1]
#: = 0x0
print $eflagss1
#: = \[ \]
ptype $mxcsrs1
#: flag i386_mxcsr
print/x $xmm0s2
#: = 0x0$
continue
#: exited normally
#options --vgdb-stop-at=startup --vgdb-shadow-registers=yes
#tools memcheck
