/* The border between translated code and the runtime's C.
 *
 * Translated code arrives with every guest register in the host register of
 * the same name and RSP on the guest's stack: nothing may be pushed before RSP
 * is switched (red zone), and DF may be set.
 *
 */
#include "runtime/core/entry.inc"

        .text
        .globl  _start
        .type   _start, @function
_start:
        xor     %ebp, %ebp
        mov     %rsp, %rdi
        and     $-16, %rsp
        call    rt_main
        ud2

        .section rt_border, "ax", @progbits
        .globl  rt_enter_begin, rt_enter_end, rt_enter_restart
        .globl  rt_enter, rt_enter_jump, rt_resume, rt_exit_stub, rt_find_stub, rt_miss_stub, rt_slow_stub, rt_cs_sync_stub

/* A look-up in line missed: guest pc in RDX, the guest's RCX and RDX in their
 * slots.  Empty entries of the table lead here too.  The large table (ip_tt_index,
 * tt_hash.h) most often knows the pc: a compiler has more targets than the small
 * one has entries. */
#define TT            0x6d001000        /* IP_META_BASE + IP_META_TT          */
#define TT_BYTES      0x800000          /* 16 << IP_META_TTBITS               */
#define FAST          0x7fd00000        /* IP_FAST_BASE                       */
#define ENTRY_CHECK   32
        .p2align 4
rt_find_stub:
        mov     %rax, %fs:0x00
        SAVE_FLAGS
        mov     %rdx, %rax
        shr     $47, %rax               /* no address: its high bits may be a key's modes */
        jne     4f
        mov     %rdx, %rax
        shr     $23, %rax
        movabs  $0x9e3779b97f4a7c15, %rcx
        imul    %rcx, %rax
        shr     $40, %rax
        mov     %rdx, %rcx
        shr     $10, %rcx
        add     %ecx, %eax
        shl     $10, %eax               /* 64 entries of 16 bytes a kilobyte  */
        mov     %edx, %ecx
        and     $0x3f0, %ecx
        add     %ecx, %eax
        mov     $8, %ecx
1:      and     $(TT_BYTES - 1), %eax
        cmp     TT(%rax), %rdx
        je      2f
        add     $16, %eax
        dec     %ecx
        jne     1b
        jmp     4f
2:      mov     TT + 8(%rax), %ecx
        cmp     $ENTRY_CHECK, %ecx
        jbe     4f
        cmp     $0x7fffffff, %rdx
        ja      5f
        mov     %rax, %fs:TS_TMP2
        sub     $ENTRY_CHECK, %ecx
        movzwl  %dx, %eax
        mov     %rcx, FAST(,%rax,8)
        /* Dropped meanwhile?  Then what we stored may be too late for a flush, also when
         * another translation has taken the place. */
        mov     %fs:TS_TMP2, %rax
        cmp     TT(%rax), %rdx
        jne     3f
        add     $ENTRY_CHECK, %ecx
        cmp     TT + 8(%rax), %ecx
        jne     3f
        sub     $ENTRY_CHECK, %ecx
        LOAD_FLAGS
        mov     %fs:0x00, %rax
        jmp     *%rcx
        /* Far code is entered by its own address: only keys below 2 GiB can be checked
         * at the entry, so only they are in the small table. */
5:      mov     %rcx, %fs:TS_TARGET
        LOAD_FLAGS
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     *%fs:TS_TARGET
3:      movzwl  %dx, %eax
        movq    $rt_find_stub, FAST(,%rax,8)
4:      mov     %fs:TS_LAHF, %eax
        add     $0x7f, %al
        sahf
        mov     %fs:0x00, %rax
        /* fall through */

rt_miss_stub:
        mov     %rdx, %fs:TS_PC
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        movl    $0xffffffff, %fs:TS_EXIT_ID
        /* fall through */

/* Every other way out: tstate.exit_id set. */
rt_exit_stub:
        SAVE_GUEST
        call    rt_dispatch
        mov     %fs:TS_SELF, %rdi
        /* fall through */

/* rt_enter(ts): to a block entry.  A signal recorded before the test is seen
 * by it; one that comes after it, up to the jump, is sent to the restart. */
        .p2align 4
rt_enter:
        mov     %fs:TS_RT_SP, %rsp
        xor     %eax, %eax
        xchg    %eax, %fs:TS_IN_RUNTIME /* seen by a flush, or the flush is seen by us */
rt_enter_begin:
        cmpl    $0, %fs:TS_PENDING
        jne     rt_enter_restart
        mov     rt_flush_seq, %eax
        cmp     %fs:TS_FLUSH_SEQ, %eax
        jne     rt_enter_restart
        LOAD_GUEST rt_enter_jump
rt_enter_end:

/* rdi = ts, rsp = runtime stack */
rt_enter_restart:
        movl    $IN_RUNTIME, %fs:TS_IN_RUNTIME
        mov     %fs:TS_SELF, %rdi
        mov     %fs:TS_RT_SP, %rsp
        call    rt_run
        ud2

/* Slow paths: work, then on in the middle of the block (eax = 0) or at a block
 * entry (eax = 1). */
        .p2align 4
rt_slow_stub:
        SAVE_GUEST
        call    rt_slow
        mov     %fs:TS_SELF, %rdi
        test    %eax, %eax
        jne     rt_enter
rt_resume:
        mov     %fs:TS_RT_SP, %rsp
        movl    $IN_PROGRAM, %fs:TS_IN_RUNTIME
        cmpl    $0, %fs:TS_PENDING
        je      1f
        call    rt_signal_step
1:      LOAD_GUEST rt_resume_jump

/* The call stack does not match at a ret (longjmp, stack switch, ...): drop
 * what lies below RSP.  RAX and flags kept, RCX free, RSP still at the return
 * address slot; RDX is to be the entry that the ret then takes away. */
        .p2align 4
rt_cs_sync_stub:
        mov     %rsp, %fs:TS_TMP2
        lea     8 - 1(%rsp), %rcx
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        push    %rax
        mov     %fs:TS_CS_TOP, %rdx
1:      mov     8(%rdx), %rax           /* RSP before the call; 0 in the lowest, */
        dec     %rax                    /* which is above all others then       */
        cmp     %rcx, %rax
        ja      2f
        lea     -16(%rdx), %rdx
        jb      1b
2:      lea     16(%rdx), %rdx
        pop     %rax
        popfq
        mov     %fs:TS_TMP2, %rsp
        jmp     *%fs:TS_RESUME


        .section .note.GNU-stack,"",@progbits
