/* What of the signal and thread layer cannot be said in C: the kernel's entry,
 * its way back, the extended state, and the birth of a task. */
#define FRAME_FLAGS 184                 /* of a struct sig_frame: coredump.c */

        .text
        .globl  rt_host_entry, rt_host_restorer, rt_signal_trampoline
        .globl  sig_xsave, sig_xrstor, sig_clone_call
        .type   rt_host_entry, @function
        .type   rt_host_restorer, @function
        .type   rt_signal_trampoline, @function
        .type   sig_xsave, @function
        .type   sig_xrstor, @function
        .type   sig_clone_call, @function

/* The kernel comes here on the host alternate stack: rdi = signal, rsi = info,
 * rdx = ucontext, return address = rt_host_restorer.  Vector state is in the
 * frame and nothing here touches it. */
        .p2align 4
rt_host_entry:
        /* The kernel clears DF and TF, but not the guest's AC, which rt_sigreturn sets again.  It does not restore ID and
         * NT, which stay as they are here: perhaps the guest's. */
        pushfq
        andl    $~0x40000, (%rsp)
        popfq
        jmp     sig_host_handler
        .size   rt_host_entry, . - rt_host_entry

        .p2align 4
rt_host_restorer:
        mov     $15, %eax               /* rt_sigreturn */
        syscall
        ud2
        .size   rt_host_restorer, . - rt_host_restorer

/* The host handler lets the interrupted thread continue here once the whole
 * guest state is in the tstate: rdi = tstate, rsp = top of the runtime stack. */
        .p2align 4
rt_signal_trampoline:
        cld
        xor     %ebp, %ebp
        call    rt_signal_resume
        ud2
        .size   rt_signal_trampoline, . - rt_signal_trampoline

/* void sig_xsave(void *area, u64 features): without features (no XSAVE) the legacy part alone */
        .p2align 4
sig_xsave:
        test    %rsi, %rsi
        jz      1f
        mov     %rsi, %rax
        mov     %rsi, %rdx
        shr     $32, %rdx
        xsave64 (%rdi)
        ret
1:      fxsave64 (%rdi)
        ret
        .size   sig_xsave, . - sig_xsave

/* void sig_xrstor(const void *area, u64 features) */
        .p2align 4
sig_xrstor:
        test    %rsi, %rsi
        jz      1f
        mov     %rsi, %rax
        mov     %rsi, %rdx
        shr     $32, %rdx
        xrstor64 (%rdi)
        ret
1:      fxrstor64 (%rdi)
        ret
        .size   sig_xrstor, . - sig_xrstor

/* long sig_clone_call(u64 nr, const u64 args[6], struct tstate *child)
 *
 * The kernel's clone or clone3.  In the parent: the result.  In a child that
 * shares memory (child != NULL) the stack pointer is already the child's
 * runtime stack, so nothing of the parent's frame may be used: the register
 * that holds child comes along.  A fork's child (child == NULL) returns 0. */
        .p2align 4
sig_clone_call:
        push    %rbx
        mov     %rdx, %rbx
        mov     %rdi, %rax
        mov     %rsi, %r11
        mov     (%r11), %rdi
        mov     8(%r11), %rsi
        mov     16(%r11), %rdx
        mov     24(%r11), %r10
        mov     32(%r11), %r8
        mov     40(%r11), %r9
        syscall
        test    %rax, %rax
        jnz     1f
        test    %rbx, %rbx
        jnz     2f
1:      pop     %rbx
        ret
2:      cld
        xor     %ebp, %ebp
        mov     %rbx, %rdi
        and     $-16, %rsp
        call    thread_start
        ud2
        .size   sig_clone_call, . - sig_clone_call

/* void sig_become_guest(const struct sig_frame *frame, u64 fs, u64 gs) */
        .globl  sig_become_guest
        .type   sig_become_guest, @function
        .p2align 4
sig_become_guest:
        mov     %rdi, %rbx
        mov     %rdx, %rbp
        mov     $158, %eax              /* arch_prctl */
        mov     $0x1002, %edi           /* ARCH_SET_FS */
        syscall
        mov     $158, %eax
        mov     $0x1001, %edi           /* ARCH_SET_GS */
        mov     %rbp, %rsi
        syscall
        mov     FRAME_FLAGS(%rbx), %eax
        and     $0x204000, %eax         /* ID and NT, which rt_sigreturn leaves as they are */
        or      $0x202, %eax
        push    %rax
        popfq
        lea     8(%rbx), %rsp
        mov     $15, %eax               /* rt_sigreturn */
        syscall
        ud2
        .size   sig_become_guest, . - sig_become_guest

        .section rt_border, "ax", @progbits
        .globl  rt_arrived
rt_arrived:                             /* signal.c */
        ud2

        .section .note.GNU-stack, "", @progbits
