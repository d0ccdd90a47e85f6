# XSAVE and its kin.  After #! how the instruction goes about it, and EDX:EAX; what xrstor reads is what the last one saved.

    .macro CASE name
    .global case_\name
case_\name:
    .endm
    .macro DONE name
    .global end_\name
end_\name:
    .endm
    .macro MASK low
    mov $\low, %eax
    xor %edx, %edx
    .endm

    .bss
    .balign 4096
    .global area
area:
    .skip 16384
    .text
    .global _start
_start:
    lea area(%rip), %rbx
    # components that are in use
    fld1
    vpcmpeqd %ymm1, %ymm1, %ymm1
    vpbroadcastd %xmm1, %zmm17
    kxnorw %k0, %k0, %k1
    MASK 7
    CASE save                   #! save 7
    xsave (%rbx)
    DONE save
    CASE restore                #! restore 7
    xrstor (%rbx)
    DONE restore
    MASK 2
    CASE sse                    #! save 2
    xsave64 (%rbx)
    DONE sse
    MASK 4
    CASE avx                    #! save 4
    xsaveopt (%rbx)
    DONE avx
    MASK 1
    CASE x87                    #! save 1
    xsaveopt64 area(%rip)
    DONE x87
    MASK 0
    CASE none                   #! save 0
    xsave (%rbx)
    DONE none
    MASK 0xe6
    CASE wide                   #! save 230
    xsave (%rbx)
    DONE wide
    MASK 0xe6
    mov $1, %ecx
    CASE compact                #! compact 230
    xsavec -1(%rbx,%rcx)
    DONE compact
    MASK 0xa3
    CASE packed                 #! compact 163
    xsavec64 (%rbx)
    DONE packed
    MASK 0xff
    CASE unpacked               #! expand 163 255
    xrstor64 (%rbx)
    DONE unpacked
    mov $-1, %eax
    mov $-1, %edx
    CASE everything             #! save -1
    xsave (%rbx)
    DONE everything
    mov $231, %eax
    xor %edi, %edi
    syscall
