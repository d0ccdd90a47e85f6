# Every kind of access, branch and call that code is generated for, some hundred times, at addresses that change.
        .globl _start
        .text
        .type _start, @function
_start: lea     stack(%rip), %rsp
        mov     $158, %eax              # arch_prctl(ARCH_SET_FS)
        mov     $0x1002, %edi
        lea     buf+4096(%rip), %rsi
        syscall
        mov     $600, %ebp
        xor     %ebx, %ebx
        xor     %r12d, %r12d
1:      lea     buf(%rip), %rdi
        mov     (%rdi,%rbx), %rax       # in two lines at times
        mov     %eax, 3(%rdi,%rbx,2)
        mov     buf(,%rbx,8), %rdx
        mov     buf(,%rbx,4), %cl
        mov     %fs:8, %rax
        mov     %rax, %fs:(%rbx)
        incl    128(%rdi)
        mov     67108864(%edi,%r12d), %al
        bt      %ebx, 512(%rdi)
        adc     %eax, %edx              # else Valgrind leaves it out
        mov     $0x500000000, %rsi      # what lies above the operand's size is no part of the bit's number
        sub     %rbx, %rsi
        bt      %esi, 2048(%rdi)
        adc     %eax, %edx
        bt      %si, 2048(%rdi)
        adc     %eax, %edx
        mov     fixed(%rip), %rax
        movups  4000(%rdi,%rbx), %xmm0
        test    $1, %bl
        jz      2f
        test    $6, %bl
        jz      3f
        push    %rax
        pop     %rdx
2:      call    first
        lea     table(%rip), %r8
        mov     %ebx, %eax
        and     $3, %eax
        jmp     *(%r8,%rax,8)
way0:   call    *calls(%rip)
        jmp     4f
way1:   call    *calls+8(%rip)
        jmp     4f
way2:   mov     $3, %edi
        call    deep
way3:
4:
3:      lock incl 64+buf(%rip)
        add     $13, %ebx
        and     $1023, %ebx
        dec     %ebp
        jnz     1b
        jmp     *end(%rip)              # Valgrind counts a block when the next one begins
5:      mov     $60, %eax
        xor     %edi, %edi
        syscall
        .size _start, . - _start

        .type first, @function
first:  mov     (%rsp), %rax
        test    $2, %bl
        jz      second                  # a tail call at times
        ret
        .size first, . - first
        .type second, @function
second: add     %rax, 192(%rdi)
        jmp     *last(%rip)
        .size second, . - second
        .type third, @function
third:  ret
        .size third, . - third
        .type deep, @function
deep:   push    %rbx
        dec     %edi
        jz      6f
        call    deep
6:      pop     %rbx
        ret
        .size deep, . - deep

        .data
        .balign 64
table:  .quad way0, way1, way2, way3
calls:  .quad first, third
last:   .quad third
end:    .quad 5b
fixed:  .quad 0
        .bss
        .balign 65536
buf:    .skip 16384
        .skip 67108864
        .skip 4096
stack:  .skip 64
        .section .note.GNU-stack, "", @progbits
