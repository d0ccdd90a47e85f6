# Gathers of AVX2: which elements are read, and where.  After #! what is accessed: direction, size, place.

    .macro CASE name
    .global case_\name
case_\name:
    .endm
    .macro DONE name
    .global end_\name
end_\name:
    .endm

    .data
    .balign 4096
    .global buf
buf:
    .fill 4096, 1, 0
    .balign 64
dwords:
    .long 0, 16, 32, -16, 1, 2, 100, 200
qwords:
    .quad 0, 64, -8, 24
ones:
    .fill 32, 1, -1
half: # elements 0, 2, 5 of eight, or 0, 1, 2 of four
    .long -1, 0x7fffffff, 0x80000000, 0, 0, -1, 0, 0
halfq: # elements 1, 3 of four
    .quad 0x7fffffffffffffff, 0x8000000000000000, 0, -1
    .text
    .global _start
_start:
    lea buf+1024(%rip), %rbx
    vmovdqu dwords(%rip), %ymm1
    vmovdqu qwords(%rip), %ymm2
    vmovdqu ones(%rip), %ymm4
    CASE dd_all                 #! R4 buf+1024, R4 buf+1088, R4 buf+1152, R4 buf+960, R4 buf+1028, R4 buf+1032, R4 buf+1424, R4 buf+1824
    vpgatherdd %ymm4, (%rbx,%ymm1,4), %ymm0
    DONE dd_all
    CASE dd_none                #!
    vpgatherdd %ymm4, (%rbx,%ymm1,4), %ymm0
    DONE dd_none
    vmovdqu half(%rip), %ymm4
    CASE dd_some                #! R4 buf+1032, R4 buf+1064, R4 buf+1034
    vpgatherdd %ymm4, 8(%rbx,%ymm1,1), %ymm0
    DONE dd_some
    vmovdqu half(%rip), %xmm4
    CASE dd_xmm                 #! R4 buf+1024, R4 buf+1280
    vgatherdps %xmm4, (%rbx,%xmm1,8), %xmm0
    DONE dd_xmm
    vmovdqu halfq(%rip), %ymm4
    CASE dq                     #! R8 buf+1056, R8 buf+992
    vpgatherdq %ymm4, (%rbx,%xmm1,2), %ymm0
    DONE dq
    vmovdqu ones(%rip), %xmm4
    CASE dq_xmm                 #! R8 buf+1024, R8 buf+1056
    vgatherdpd %xmm4, (%rbx,%xmm1,2), %xmm0
    DONE dq_xmm
    vmovdqu ones(%rip), %xmm4
    CASE qd                     #! R4 buf+1024, R4 buf+1088, R4 buf+1016, R4 buf+1048
    vpgatherqd %xmm4, (%rbx,%ymm2,1), %xmm0
    DONE qd
    vmovdqu ones(%rip), %xmm4
    CASE qd_xmm                 #! R4 buf+1024, R4 buf+1152
    vgatherqps %xmm4, (%rbx,%xmm2,2), %xmm0
    DONE qd_xmm
    vmovdqu halfq(%rip), %ymm4
    CASE qq                     #! R8 buf+1088, R8 buf+1048
    vpgatherqq %ymm4, (%rbx,%ymm2,1), %ymm0
    DONE qq
    vmovdqu ones(%rip), %ymm4
    mov $4, %ecx
    CASE between                #! R8 buf+1024, R8 buf+1024, R8 buf+1536, R8 buf+960, R8 buf+1216, W8 buf+1028
    mov (%rbx), %rax
    vgatherqpd %ymm4, (%rbx,%ymm2,8), %ymm0
    mov %rax, (%rbx,%rcx)
    DONE between
    # an address of 32 bits; no base; a base in FS
    vmovdqu ones(%rip), %xmm4
    CASE narrow                 #! R4 buf+1024, R4 buf+1088, R4 buf+1152, R4 buf+960
    vpgatherdd %xmm4, (%ebx,%xmm1,4), %xmm0
    DONE narrow
    vmovdqu ones(%rip), %xmm4
    CASE no_base                #! R4 buf, R4 buf+16, R4 buf+32, R4 buf-16
    vpgatherdd %xmm4, buf(,%xmm1,1), %xmm0
    DONE no_base
    mov $158, %eax
    mov $0x1002, %edi
    lea buf+2048(%rip), %rsi
    syscall
    vmovdqu ones(%rip), %xmm4
    xor %edx, %edx
    CASE segment                #! R4 buf+2052, R4 buf+2068, R4 buf+2084, R4 buf+2036
    vpgatherdd %xmm4, %fs:4(%rdx,%xmm1,1), %xmm0
    DONE segment
    # as often as callgrind makes code of its own for a block
    mov $300, %ecx
again:
    vmovdqu half(%rip), %ymm4
    vpgatherdd %ymm4, (%rbx,%ymm1,4), %ymm0
    dec %ecx
    jnz again
    mov $231, %eax
    xor %edi, %edi
    syscall
