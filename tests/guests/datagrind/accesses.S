# One access, or a few, of each kind of instruction.  What CASE names must access is in the comment behind it: R or W
# and bytes, then the address by a symbol; "*4+1" repeats the last one four times, each an addition further.
# Built static, without a C library.

    .macro CASE name
    .global case_\name
case_\name:
    .endm
    .macro DONE name
    .global end_\name
end_\name:
    .endm
    .macro STACK
    lea stack(%rip), %rsp
    .endm

    .data
    .balign 4096
    .global buf, stack, other
low:
    .fill 4096, 1, 0
buf:
    .fill 4096, 1, 0
other:
    .fill 4096, 1, 1
    .fill 4096, 1, 0
stack:
    .fill 512, 1, 0
there:
    .quad case_jmp_there, case_call_there

    .text
    .global _start
_start:
    mov %rsp, %rbp
    lea buf(%rip), %rbx
    lea other(%rip), %r12
    mov $3, %ecx
    xor %eax, %eax

    CASE load                   #! R8 buf
    mov (%rbx), %rax
    DONE load
    CASE load_narrow            #! R1 buf+1, R2 buf+2, R4 buf+4
    movzbl 1(%rbx), %eax
    movswl 2(%rbx), %eax
    mov 4(%rbx), %eax
    DONE load_narrow
    CASE store                  #! W1 buf+8, W2 buf+10, W4 buf+12, W8 buf+16
    mov %al, 8(%rbx)
    mov %ax, 10(%rbx)
    movl $5, 12(%rbx)
    movq $6, 16(%rbx)
    DONE store
    mov $3, %ecx
    CASE index                  #! R8 buf+40, W4 buf+13, R8 buf+24
    mov 16(%rbx,%rcx,8), %rax
    mov %eax, 10(%rbx,%rcx)
    mov buf(,%rcx,8), %rax
    DONE index
    CASE changed_base           #! R8 buf+8, R8 buf+24, W8 buf+16
    add $8, %rbx
    mov (%rbx), %rax
    mov 16(%rbx), %rax
    add $8, %rbx
    mov %rax, (%rbx)
    DONE changed_base
    lea buf(%rip), %rbx
    mov %rbx, 64(%rbx)
    CASE loaded_base            #! R8 buf+64, R8 buf+8
    mov 64(%rbx), %rdx
    mov 8(%rdx), %rax
    DONE loaded_base
    CASE rip_relative           #! R8 other+8, W8 buf+32
    mov other+8(%rip), %rax
    mov %rax, buf+32(%rip)
    DONE rip_relative
    CASE absolute               #! R4 buf+4
    mov buf+4, %eax
    DONE absolute
    mov $0xffffffff00000000, %rdx
    or %rbx, %rdx
    CASE address_32             #! R4 buf+4, R4 buf+28
    mov 4(%edx), %eax
    mov 4(%edx,%ecx,8), %eax
    DONE address_32
    CASE no_access              #!
    lea 8(%rbx), %rax
    nopl 8(%rbx)
    prefetcht0 (%rbx)
    DONE no_access

    # Read and write.
    CASE add_to                 #! R8 buf, W8 buf
    add %rax, (%rbx)
    DONE add_to
    CASE inc_dec                #! R4 buf, W4 buf, R1 buf+4, W1 buf+4
    incl (%rbx)
    decb 4(%rbx)
    DONE inc_dec
    CASE not_neg                #! R8 buf, W8 buf, R8 buf, W8 buf
    notq (%rbx)
    negq (%rbx)
    DONE not_neg
    CASE shift                  #! R8 buf, W8 buf, R4 buf, W4 buf
    shlq $3, (%rbx)
    shldl $2, %eax, (%rbx)
    DONE shift
    CASE compare                #! R8 buf, R8 buf, R1 buf+1
    cmp %rax, (%rbx)
    test %rax, (%rbx)
    cmpb $3, 1(%rbx)
    DONE compare
    CASE xchg                   #! R8 buf, W8 buf
    xchg %rax, (%rbx)
    DONE xchg
    CASE xadd                   #! R8 buf, W8 buf
    lock xadd %rax, (%rbx)
    DONE xadd
    CASE cmpxchg                #! R8 buf, W8 buf
    lock cmpxchg %rcx, (%rbx)
    DONE cmpxchg
    mov $3, %ecx
    CASE cmpxchg16b             #! R16 buf, W16 buf
    mov %rbx, %rsi
    lock cmpxchg16b (%rsi)
    DONE cmpxchg16b
    lea buf(%rip), %rbx
    mov $3, %ecx
    CASE setcc                  #! W1 buf+7
    setz 7(%rbx)
    DONE setcc
    xor %eax, %eax
    CASE cmov                   #! R8 buf, R8 buf+8
    cmp $1, %eax
    cmove (%rbx), %rdx
    cmovne 8(%rbx), %rdx
    DONE cmov

    # Bits.
    mov $67, %eax
    mov $-1, %rdx
    CASE bit_offset             #! R1 buf+8, R1 buf-1, R1 buf+8, W1 buf+8, R1 buf+8, W1 buf+8, R8 buf
    bt %rax, (%rbx)
    bt %rdx, (%rbx)
    bts %rax, (%rbx)
    btr %eax, (%rbx)
    btq $5, (%rbx)
    DONE bit_offset

    mov $3, %ecx
    mov $0xffffffff, %edx       # as 32 bits: -1
    mov $0x7fff00080009, %rsi   # as 16 bits: 9
    CASE bit_index              #! R1 buf+36, R1 buf+20, W1 buf+20, R1 buf-1, R1 buf+1, R8 other
    bt %rax, 4(%rbx,%rcx,8)     # bit 67 of buf+28
    btc %rcx, 14(%rbx,%rcx,2)
    bt %edx, (%rbx)
    bt %si, (%rbx)
    mov (%r12), %rax
    DONE bit_index
    mov $67, %eax
    CASE bit_address_32         #! R1 buf+14, R1 buf+7
    bt %rax, (%ebx,%ecx,2)
    bt %edx, 8(%ebx)
    DONE bit_address_32
    mov $-1, %rdx

    # The stack.
    STACK
    CASE push                   #! W8 stack-8, W8 stack-16, W2 stack-18
    push %rax
    push $5
    pushw $3
    DONE push
    STACK
    CASE push_memory            #! R8 buf, W8 stack-8, R8 stack-8, W8 stack-16
    pushq (%rbx)
    pushq (%rsp)
    DONE push_memory
    STACK
    CASE push_rsp               #! W8 stack-8
    push %rsp
    DONE push_rsp
    lea stack-64(%rip), %rsp
    CASE pop                    #! R8 stack-64, R8 stack-56, W8 buf, R8 stack-48, W8 stack-40
    pop %rax
    popq (%rbx)
    popq (%rsp)
    DONE pop
    STACK
    CASE call_ret               #! W8 stack-8, R8 stack-8
    call 1f
    jmp 2f
1:  ret
2:
    DONE call_ret
    STACK
    CASE ret_imm                #! W8 stack-8, R8 stack-8
    call 1f
    jmp 2f
1:  ret $16
2:
    DONE ret_imm
    STACK
    CASE call_memory            #! R8 there+8, W8 stack-8
    call *there+8(%rip)
    DONE call_memory
    CASE call_there             #!
    nop
    DONE call_there
    STACK
    CASE jmp_memory             #! R8 there
    jmp *there(%rip)
    DONE jmp_memory
    CASE jmp_there              #!
    nop
    DONE jmp_there
    STACK
    CASE enter_leave            #! W8 stack-8, R8 stack-8
    enter $32, $0
    leave
    DONE enter_leave
    STACK
    CASE flags                  #! W8 stack-8, R8 stack-8
    pushf
    popf
    DONE flags
    STACK
    mov $2, %eax
    CASE moved_stack            #! W8 stack-8, W8 stack-128, R8 stack-128, W4 stack-80
    push %rax
    sub $112, %rsp
    push %rax
    pop %rdx
    mov %eax, 40(%rsp)
    DONE moved_stack
    STACK

    # Strings.
    mov %rbx, %rsi
    lea 128(%r12), %rdi
    CASE movs                   #! R8 buf, W8 other+128, R1 buf+8, W1 other+136
    movsq
    movsb
    DONE movs
    mov %rbx, %rsi
    mov %r12, %rdi
    CASE string_one             #! R4 buf, W4 other, R2 buf+4, R2 other+4, R8 other+6
    lodsl
    stosl
    cmpsw
    scasq
    DONE string_one
    mov %rbx, %rsi
    mov %r12, %rdi
    mov $3, %ecx
    CASE rep_movs               #! R8 buf, W8 other, R8 buf+8, W8 other+8, R8 buf+16, W8 other+16
    rep movsq
    DONE rep_movs
    mov %r12, %rdi
    mov $300, %ecx
    CASE rep_stos               #! W1 other *300+1
    rep stosb
    DONE rep_stos
    lea 64(%rbx), %rsi
    lea 64(%r12), %rdi
    mov $2, %ecx
    std
    CASE rep_movs_down          #! R4 buf+64, W4 other+64, R4 buf+60, W4 other+60
    rep movsl
    DONE rep_movs_down
    lea 400(%r12), %rdi
    mov $200, %ecx
    CASE rep_stos_down          #! W2 other+400 *200-2
    rep stosw
    DONE rep_stos_down
    cld
    mov %r12, %rdi
    xor %ecx, %ecx
    CASE rep_none               #! R8 buf
    rep stosq
    mov (%rbx), %rax
    DONE rep_none
    movb $7, 3(%r12)
    movl $0, (%rbx)
    movb $7, 3(%rbx)
    mov %r12, %rdi
    mov $100, %ecx
    movb $0, (%r12)
    movw $0, 1(%r12)
    mov $7, %eax
    CASE repne_scas             #! R1 other *4+1
    repne scasb
    DONE repne_scas
    movb $9, 2(%rbx)
    mov %rbx, %rsi
    mov %r12, %rdi
    mov $100, %ecx
    CASE repe_cmps              #! R1 buf, R1 other, R1 buf+1, R1 other+1, R1 buf+2, R1 other+2
    repe cmpsb
    DONE repe_cmps
    mov $0xffffffff00000003, %rcx
    mov %rbx, %rsi
    mov %r12, %rdi
    CASE rep_address_32         #! R1 buf, W1 other, R1 buf+1, W1 other+1, R1 buf+2, W1 other+2, R8 buf
    addr32 rep movsb
    mov (%rbx), %rax
    DONE rep_address_32
    mov $0x12f5, %eax
    CASE xlat                   #! R1 buf+245
    xlat
    DONE xlat
    mov $0x80, %al
    lea 4(%rbx), %r13
    xchg %rbx, %r13
    CASE xlat_moved             #! R1 buf+140, R8 buf+12
    add $8, %rbx
    xlat
    mov (%rbx), %rax
    DONE xlat_moved
    mov %r13, %rbx

    # Segments.
    mov $158, %eax              # arch_prctl
    mov $0x1002, %edi           # ARCH_SET_FS
    mov %r12, %rsi
    syscall
    mov $158, %eax
    mov $0x1001, %edi           # ARCH_SET_GS
    mov %rbx, %rsi
    syscall
    mov $8, %ecx
    CASE segments               #! R8 other+16, W4 buf+24, R8 other+24
    mov %fs:16, %rax
    mov %eax, %gs:16(%rcx)
    mov %fs:8(%rcx,%rcx), %rax
    DONE segments
    xor %esi, %esi
    lea buf(%rip), %rdi
    mov $2, %ecx
    CASE segment_string         #! R8 other, W8 buf, R8 other+8, W8 buf+8
    rep movsq %fs:(%rsi), (%rdi)
    DONE segment_string

    # Vectors, x87.
    CASE sse                    #! R16 buf, W16 buf+16, R4 buf, R8 buf+8, W8 buf+40, R16 buf+64
    movdqu (%rbx), %xmm0
    movaps %xmm0, 16(%rbx)
    movss (%rbx), %xmm1
    movsd 8(%rbx), %xmm1
    movhps %xmm1, 40(%rbx)
    paddd 64(%rbx), %xmm0
    DONE sse
    CASE x87                    #! R10 buf, W10 buf+16, R8 buf+32, W4 buf+40, R4 buf+48, R2 buf+52, W2 buf+60
    fldt (%rbx)
    fstpt 16(%rbx)
    fldl 32(%rbx)
    fstps 40(%rbx)
    fildl 48(%rbx)
    fldcw 52(%rbx)
    fnstcw 60(%rbx)
    DONE x87
    CASE fxsave                 #! W128 other *4+128
    fxsave (%r12)
    DONE fxsave
    CASE movnti                 #! W8 buf, W16 buf+16
    movnti %rax, (%rbx)
    movntdq %xmm0, 16(%rbx)
    DONE movnti

    # A branch taken in the middle of a block, and one not taken.
    xor %eax, %eax
    CASE side_exit              #! R8 buf, R8 buf+16
    mov (%rbx), %rdx
    test %eax, %eax
    je 1f
    mov 8(%rbx), %rdx
1:  mov 16(%rbx), %rdx
    DONE side_exit
    mov $3, %ecx
    CASE loop                   #! R8 buf+24, R8 buf+16, R8 buf+8
1:  mov (%rbx,%rcx,8), %rdx
    loop 1b
    DONE loop
    mov $12, %eax
    CASE system_call            #! R8 buf, R8 buf+8
    mov (%rbx), %rdx
    syscall
    mov 8(%rbx), %rdx
    DONE system_call

    mov %rbp, %rsp
    mov $231, %eax
    xor %edi, %edi
    syscall
