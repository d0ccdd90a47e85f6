# Accesses of AVX; as accesses.S.  Masked moves are shown whole.

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
    .text
    .global _start
_start:
    lea buf(%rip), %rbx
    CASE avx                    #! R32 buf, W32 buf+32, R4 buf
    vmovdqu (%rbx), %ymm0
    vmovdqa %ymm0, 32(%rbx)
    vbroadcastss (%rbx), %ymm1
    DONE avx
    CASE masked                 #! R32 buf, W32 buf
    vpxor %ymm2, %ymm2, %ymm2
    vpmaskmovd (%rbx), %ymm2, %ymm0
    vpmaskmovd %ymm0, %ymm2, (%rbx)
    DONE masked
    CASE gather                 #! R4 buf *8+0, R8 buf
    vpxor %ymm3, %ymm3, %ymm3
    vpcmpeqd %ymm2, %ymm2, %ymm2
    vpgatherdd %ymm2, (%rbx,%ymm3,4), %ymm0
    mov (%rbx), %rax
    DONE gather
    mov $231, %eax
    xor %edi, %edi
    syscall
