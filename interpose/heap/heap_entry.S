/* The program asks the replaced heap (IP_HR_*, heap_abi.h) without leaving translated code for good: only what C may
 * change is put away and taken back, and the block goes on behind the request.  What heap_fast.c leaves alone takes
 * the full exit. */
#include "runtime/core/entry.inc"

        .section rt_border, "ax", @progbits
        .p2align 4
        .globl  rt_heap_stub
rt_heap_stub:
        LIGHT heap_fast, heap_flags, heap_exit, heap_resume
heap_resume:
        mov     %fs:TS_SELF, %rdi
        jmp     rt_resume
heap_flags:
        pushq   $0x202
        popfq
heap_exit:
        /* As if rt_exit_stub had been entered: all is in the state. */
        movl    $AT_EXIT, %fs:TS_IN_RUNTIME
        mov     %fs:TS_SELF, %rdi
        xor     %ebp, %ebp
        call    rt_dispatch
        mov     %fs:TS_SELF, %rdi
        jmp     rt_enter

        .section .note.GNU-stack,"",@progbits
