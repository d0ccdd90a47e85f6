#needs avx2
break here
continue
print $ymm1.v4_int64
#: = \{-1, -1, -1, -1\}
set var $ymm2.v4_int64[2] = 4711
continue
#: exited normally
#out high 4711
