# after a call of gdb's, which gives back all registers, the same is undefined, of the same origin
break *use
continue
set var $told = $rsis2
print $told != 0
#: = 1
print/x $xmm0s2
#: = 0x2000000
print twice(1.5, 4)
#: = 6
print/x $rsis1
#: = 0xffffffff
print/x $xmm0s1.v2_int64[0]
#: = 0xffffffffffffffff
print $rsis2 == $told
#: = 1
print/x $xmm0s2
#: = 0x2000000
# what is written is defined from then on
set var $rsi = 7
print/x $rsis1
#: = 0x0
set var $xmm0.v2_int64[0] = 7
print/x $xmm0s1.v2_int64[0]
#: = 0x0
set var $rdis1 = 0xff
print/x $rdis1
#: = 0xff
set var $eflagss1 = 0x41
print $eflagss1
#: = \[ CF ZF \]
set var $eflagss1 = 0
print $eflagss1
#: = \[ \]
set var $xmm1s1.v4_int32[1] = 5
print $xmm1s1.v4_int32
#: = \{0, 5, 0, 0\}
set var $st1s1.b64 = 0xf0
print/x $st1s1.b64
#: = 0xf0
continue
#: if \(defined\)
continue
#: exited normally
#out Conditional jump
#out by .*: main \(shadow_set.c:13\)
#out ERROR SUMMARY: 1 errors from 1 contexts
#options --vgdb-error=0 --vgdb-shadow-registers=yes --track-origins=yes
#tools memcheck
