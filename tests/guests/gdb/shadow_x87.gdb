break use
continue
print $st0
#: = 1.5
info registers st0s1
#: st0s1 +.*(raw 0x0{20}|b64 = 0x0, b16 = 0x0)
info registers st1s1
#: st1s1 +.*(raw 0x0{12}ffffffff|b64 = 0xffffffff, b16 = 0x0)
info registers st0s2
#: st0s2 +.*(raw 0x0{20}|b64 = 0x0, b16 = 0x0)
continue
#: exited normally
#options --vgdb-stop-at=startup --vgdb-shadow-registers=yes
#tools memcheck
