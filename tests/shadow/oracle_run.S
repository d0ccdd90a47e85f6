/* void t_run(struct t_state *s, const void *code): load the whole machine state,
 * jump to code (which ends in a jump to t_run_back), store the state again. */
        .text
        .globl  t_run, t_run_back
        .type   t_run, @function
t_run:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, saved_rsp(%rip)
        mov     %rdi, saved_state(%rip)
        mov     %rsi, saved_code(%rip)
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        kmovq   144+8*\n(%rdi), %k\n
        .endr
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 208+64*\n(%rdi), %zmm\n
        .endr
        frstor  2256(%rdi)
        pushq   128(%rdi)
        popfq
        mov     0(%rdi), %rax
        mov     8(%rdi), %rcx
        mov     16(%rdi), %rdx
        mov     24(%rdi), %rbx
        mov     32(%rdi), %rsp
        mov     40(%rdi), %rbp
        mov     48(%rdi), %rsi
        mov     64(%rdi), %r8
        mov     72(%rdi), %r9
        mov     80(%rdi), %r10
        mov     88(%rdi), %r11
        mov     96(%rdi), %r12
        mov     104(%rdi), %r13
        mov     112(%rdi), %r14
        mov     120(%rdi), %r15
        mov     56(%rdi), %rdi
        jmp     *saved_code(%rip)
t_run_back:
        mov     %rdi, saved_rdi(%rip)
        mov     saved_state(%rip), %rdi
        mov     %rax, 0(%rdi)
        mov     %rcx, 8(%rdi)
        mov     %rdx, 16(%rdi)
        mov     %rbx, 24(%rdi)
        mov     %rsp, 32(%rdi)
        mov     %rbp, 40(%rdi)
        mov     %rsi, 48(%rdi)
        mov     %r8, 64(%rdi)
        mov     %r9, 72(%rdi)
        mov     %r10, 80(%rdi)
        mov     %r11, 88(%rdi)
        mov     %r12, 96(%rdi)
        mov     %r13, 104(%rdi)
        mov     %r14, 112(%rdi)
        mov     %r15, 120(%rdi)
        mov     saved_rdi(%rip), %rax
        mov     %rax, 56(%rdi)
        mov     saved_rsp(%rip), %rsp
        pushfq
        popq    128(%rdi)
        cld
        .irp    n, 0, 1, 2, 3, 4, 5, 6, 7
        kmovq   %k\n, 144+8*\n(%rdi)
        .endr
        .irp    n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovdqu64 %zmm\n, 208+64*\n(%rdi)
        .endr
        fnsave  2256(%rdi)
        vzeroupper
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret

        .bss
        .balign 8
saved_rsp:   .skip 8
saved_state: .skip 8
saved_code:  .skip 8
saved_rdi:   .skip 8
        .section .note.GNU-stack, "", @progbits
