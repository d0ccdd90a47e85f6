break use
continue
print $st0
#: = 1.5
print/x $st0s1
#: = \{b64 = 0x0, b16 = 0x0\}
print/x $st1s1.b64
#: = 0xffffffff
info registers st0s2
#: st0s2 +.*(raw 0x0{20}|b64 = 0x0, b16 = 0x0)
continue
#: exited normally
#options --vgdb-stop-at=startup --vgdb-shadow-registers=yes
#tools memcheck
