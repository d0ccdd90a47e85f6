# Gathers and scatters of AVX-512; as avx2.S.

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
    .long 0, 16, 32, -16, 1, 2, 100, 200, -1, -2, -3, -4, 3, 3, 5, 6
qwords:
    .quad 0, 64, -8, 24, 128, 136, 144, -100
    .text
    .global _start
_start:
    lea buf+1024(%rip), %rbx
    vmovdqu64 dwords(%rip), %zmm17
    vmovdqu64 qwords(%rip), %zmm2
    mov $0x8421, %eax
    kmovw %eax, %k1
    CASE dd                     #! R4 buf+1024, R4 buf+1032, R4 buf+1012, R4 buf+1048
    vpgatherdd (%rbx,%zmm17,4), %zmm0{%k1}
    DONE dd
    CASE dd_none                #!
    vpgatherdd (%rbx,%zmm17,4), %zmm0{%k1}
    DONE dd_none
    kxnorw %k0, %k0, %k3
    CASE dd_all                 #! R4 buf+1024, R4 buf+1040, R4 buf+1056, R4 buf+1008, R4 buf+1025, R4 buf+1026, R4 buf+1124, R4 buf+1224, R4 buf+1023, R4 buf+1022, R4 buf+1021, R4 buf+1020, R4 buf+1027, R4 buf+1027, R4 buf+1029, R4 buf+1030
    vgatherdps (%rbx,%zmm17,1), %zmm0{%k3}
    DONE dd_all
    kxnorw %k0, %k0, %k1
    CASE dq                     #! R8 buf+1024, R8 buf+1040, R8 buf+1056, R8 buf+1008, R8 buf+1025, R8 buf+1026, R8 buf+1124, R8 buf+1224
    vpgatherdq (%rbx,%ymm17,1), %zmm0{%k1}
    DONE dq
    mov $0x81, %eax
    kmovw %eax, %k1
    CASE qd                     #! R4 buf+1064, R4 buf+964
    vpgatherqd 40(%rbx,%zmm2,1), %ymm0{%k1}
    DONE qd
    kxnorw %k0, %k0, %k2
    CASE qq_ymm                 #! R8 buf+1024, R8 buf+1152, R8 buf+1008, R8 buf+1072
    vpgatherqq (%rbx,%ymm2,2), %ymm0{%k2}
    DONE qq_ymm
    kxnorw %k0, %k0, %k2
    CASE qd_xmm                 #! R4 buf+1024, R4 buf+1088
    vgatherqps (%rbx,%xmm2,1), %xmm0{%k2}
    DONE qd_xmm
    kxnorw %k0, %k0, %k2
    CASE scatter_dd             #! W4 buf+1024, W4 buf+1088, W4 buf+1152, W4 buf+960
    vpscatterdd %xmm0, (%rbx,%xmm17,4){%k2}
    DONE scatter_dd
    mov $0x5, %eax
    kmovw %eax, %k2
    CASE scatter_dq             #! W8 buf+1024, W8 buf+1280
    vscatterdpd %zmm0, (%rbx,%ymm17,8){%k2}
    DONE scatter_dq
    kxnorw %k0, %k0, %k2
    CASE scatter_qd             #! W4 buf+1024, W4 buf+1088, W4 buf+1016, W4 buf+1048, W4 buf+1152, W4 buf+1160, W4 buf+1168, W4 buf+924
    vscatterqps %ymm0, (%rbx,%zmm2,1){%k2}
    DONE scatter_qd
    mov $0x2, %eax
    kmovw %eax, %k2
    CASE scatter_qq             #! W8 buf+1024, W8 buf+1088, R8 buf+1024
    mov %rax, (%rbx)
    vpscatterqq %xmm0, (%rbx,%xmm2,1){%k2}
    mov (%rbx), %rax
    DONE scatter_qq
    CASE scatter_none           #!
    vpscatterqq %zmm0, (%rbx,%zmm2,1){%k2}
    DONE scatter_none
    # more words than a record may have
    .global many, many_end
many:
    .rept 16
    kxnorw %k0, %k0, %k2
    vpgatherdd (%rbx,%zmm17,4), %zmm0{%k2}
    .endr
many_end:
    mov $231, %eax
    xor %edi, %edi
    syscall
