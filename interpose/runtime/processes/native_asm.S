/* rt_native_jump(ts, regs): every register from regs[0..15], pc from regs[16],
 * flags from regs[17]; FS base becomes the guest's.  The last two loads go by
 * way of the guest's stack below the red zone (lockstep_trace.c: NATIVE_BELOW). */
        .text
        .globl  rt_native_jump
        .type   rt_native_jump, @function
rt_native_jump:
        mov     %rsi, %rbx
        mov     %fs:0xa0, %rsi          /* client_fs */
        mov     $0x1002, %edi           /* ARCH_SET_FS */
        mov     $158, %eax
        syscall
        mov     0x20(%rbx), %rcx        /* guest rsp */
        lea     -144(%rcx), %rcx
        mov     0x88(%rbx), %rax
        mov     %rax, (%rcx)            /* rflags */
        mov     0x80(%rbx), %rax
        mov     %rax, 8(%rcx)           /* pc; ret $128 pops it and the red zone */
        mov     0x00(%rbx), %rax
        mov     0x10(%rbx), %rdx
        mov     0x28(%rbx), %rbp
        mov     0x30(%rbx), %rsi
        mov     0x38(%rbx), %rdi
        mov     0x40(%rbx), %r8
        mov     0x48(%rbx), %r9
        mov     0x50(%rbx), %r10
        mov     0x58(%rbx), %r11
        mov     0x60(%rbx), %r12
        mov     0x68(%rbx), %r13
        mov     0x70(%rbx), %r14
        mov     0x78(%rbx), %r15
        mov     %rcx, %rsp
        mov     0x08(%rbx), %rcx
        mov     0x18(%rbx), %rbx
        popfq
        ret     $128
        .section .note.GNU-stack,"",@progbits
