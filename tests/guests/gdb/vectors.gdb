#needs avx512bw
break here
continue
#: Breakpoint 1
print/x $k3
#: = 0x5a5a
print $zmm3.v8_int64
#: = \{7, 7, 7, 7, 7, 7, 7, 7\}
print $ymm3.v4_int64
#: = \{7, 7, 7, 7\}
print $zmm20.v8_int64[7]
#: = 7
set var $k4 = 0x1234
set var $zmm21.v8_int64[7] = 99
continue
#: exited normally
#out k4 1234 zmm21 99
