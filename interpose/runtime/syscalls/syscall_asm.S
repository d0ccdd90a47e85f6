/* The kernel entry of guest system calls, with a window for signals.
 *
 * A signal recorded before the kernel begins must be delivered before the call:
 * otherwise a blocking call would sleep on it.  The host handler finds rip in
 * [rt_kernel_begin, rt_kernel_insn] either because the test below is already
 * behind, or because the kernel itself put rip back on the instruction to
 * restart the call (SA_RESTART); both mean "not executed", and it sets rip to
 * rt_kernel_abort.  So no stack and no callee-saved register in here.
 */
#include "runtime/base/rt_asm.h"

        .text
        .globl  rt_kernel, rt_kernel_begin, rt_kernel_insn, rt_kernel_end, rt_kernel_abort
        .globl  rt_asking_kernel, rt_asking_begin, rt_asking_insn

        .macro  load_arguments
        mov     %rdi, %r11
        mov     %rsi, %rax
        mov     0(%rdx), %rdi
        mov     8(%rdx), %rsi
        mov     24(%rdx), %r10
        mov     32(%rdx), %r8
        mov     40(%rdx), %r9
        mov     16(%rdx), %rdx
        .endm

/* long rt_kernel(struct rt_thread *th, long nr, const u64 args[6]) */
        .type   rt_kernel, @function
        .p2align 4
rt_kernel:
        load_arguments
rt_kernel_begin:
        cmpl    $0, RT_TH_PENDING(%r11)
        jne     rt_kernel_abort
rt_kernel_insn:
        syscall
rt_kernel_end:
        ret
rt_kernel_abort:
        mov     $-4096, %rax            /* RT_INTERRUPTED */
        ret
        .size   rt_kernel, . - rt_kernel

/* The same at an address that the program's filters in the kernel do not spare (seccomp.c). */
        .type   rt_asking_kernel, @function
        .p2align 4
rt_asking_kernel:
        load_arguments
rt_asking_begin:
        cmpl    $0, RT_TH_PENDING(%r11)
        jne     rt_kernel_abort
rt_asking_insn:
        syscall
        ret
        .size   rt_asking_kernel, . - rt_asking_kernel

/* long rt_kernel32(struct rt_thread *th, long nr, const u64 args[6]): the same through int $0x80.  Its window
 * differs only in what must be put back. */
        .globl  rt_kernel32, rt_kernel32_begin, rt_kernel32_insn, rt_kernel32_end, rt_kernel32_abort
        .type   rt_kernel32, @function
        .p2align 4
rt_kernel32:
        push    %rbx
        push    %rbp
        mov     %rdi, %r11
        mov     %rsi, %rax
        mov     0(%rdx), %rbx
        mov     8(%rdx), %rcx
        mov     24(%rdx), %rsi
        mov     32(%rdx), %rdi
        mov     40(%rdx), %rbp
        mov     16(%rdx), %rdx
rt_kernel32_begin:
        cmpl    $0, RT_TH_PENDING(%r11)
        jne     rt_kernel32_abort
rt_kernel32_insn:
        int     $0x80
rt_kernel32_end:
        pop     %rbp
        pop     %rbx
        ret
rt_kernel32_abort:
        mov     $-4096, %rax            /* RT_INTERRUPTED */
        jmp     rt_kernel32_end
        .size   rt_kernel32, . - rt_kernel32

        .section .note.GNU-stack, "", @progbits
