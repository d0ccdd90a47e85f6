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

/* Stands before the first constructor of an object with indirect functions that are to be bound: they can be asked what
 * they choose now, for the object is linked. The constructor is on the stack. */
    .text
    .globl ip_native_initialise
    .hidden ip_native_initialise
    .type ip_native_initialise, @function
    .p2align 4
ip_native_initialise:
    .cfi_startproc
    .cfi_def_cfa_offset 16
    push    %rdi
    .cfi_adjust_cfa_offset 8
    push    %rsi
    .cfi_adjust_cfa_offset 8
    push    %rdx
    .cfi_adjust_cfa_offset 8
    sub     $8, %rsp
    .cfi_adjust_cfa_offset 8
    call    ip_native_linked
    mov     32(%rsp), %rdi
    call    ip_native_original
    add     $8, %rsp
    .cfi_adjust_cfa_offset -8
    pop     %rdx
    .cfi_adjust_cfa_offset -8
    pop     %rsi
    .cfi_adjust_cfa_offset -8
    pop     %rdi
    .cfi_adjust_cfa_offset -8
    add     $8, %rsp
    .cfi_adjust_cfa_offset -8
    jmp     *%rax
    .cfi_endproc
    .size ip_native_initialise, . - ip_native_initialise
    .section .note.GNU-stack, "", @progbits
