break here
continue
print/x $rax
#: = 0x1122334455667788
print/x $eax
#: = 0x55667788
print $r8
#: = 3
print/x $xmm1.v2_int64[0]
#: = 0x1122334455667788
print $st0
#: = 3.14159
print $st1
#: = 1
print/x $fctrl
#: = 0x37f
print/x $mxcsr & 0x1f80
#: = .*IM DM ZM OM UM PM|= 0x1f80
set var $r15 = 99
set var $xmm2.v2_int64[0] = 0x1234
set var $eflags = $eflags | 1
print $eflags
#: = \[ CF .*IF.*\]
break there
continue
#: Breakpoint 2
print $rbx
#: = 2
info registers rip rsp cs ss ds es fs gs fs_base gs_base
#: rip .*check
#: cs .*0x33
#: ss .*0x2b
#: fs_base .*0x[0-9a-f]{6}
print $orig_rax
#: = -1
continue
#: exited with code 02
#status 2
