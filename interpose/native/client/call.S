/* What stands in the place of the call-noredir marker: a call of *rax without redirection. A bound function is entered
 * through what the interceptor made of its first instructions, any other one as it is. r10 and r11 are the caller's to
 * lose, as every CALL_FN macro says. */
    .text
    .globl ip_native_call
    .hidden ip_native_call
    .type ip_native_call, @function
    .p2align 4
ip_native_call:
    .cfi_startproc
    mov     ip_native_originals(%rip), %r10
    mov     %rax, %r11
    shr     $4, %r11
    and     (%r10), %r11
    shl     $4, %r11
    add     %r10, %r11
1:
    add     $16, %r11
    cmp     %rax, (%r11)
    jne     2f
    jmp     *8(%r11)
2:
    cmpq    $0, (%r11)
    jne     1b
    jmp     *%rax
    .cfi_endproc
    .size ip_native_call, . - ip_native_call
    .section .note.GNU-stack, "", @progbits
