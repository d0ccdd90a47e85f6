/* A place that calls return to, and that jumps and calls by pointer go to as well.  Ends with 0 if each has come. */
        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $200, %ebx
        xor     %r12d, %r12d
        lea     point(%rip), %r13
1:      call    leaf
point:  add     $1, %r12d
        sub     $1, %ebx
        jz      2f
        test    $3, %bl
        jz      3f
        jmp     1b
3:      test    $4, %bl
        jz      4f
        jmp     *%r13
4:      call    *%r13
2:      xor     %edi, %edi
        cmp     $200, %r12d
        setne   %dil
        mov     $231, %eax
        syscall
        .size   _start, . - _start

        .type   leaf, @function
leaf:   lea     1(%rax), %rax
        ret
        .size   leaf, . - leaf
