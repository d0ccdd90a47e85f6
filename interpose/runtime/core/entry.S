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
#define TT_BYTES      0x1000000         /* 8 << IP_META_TTBITS                */
#define TT_BLOCK      0xfffff           /* IP_TT_BLOCK                        */
#define TT_NOREDIR    0x100000          /* IP_TT_NOREDIR                      */
#define TT_TAG_SHIFT  21                /* IP_TT_TAG_SHIFT                    */
#define BLOCKS        0x70011000        /* IP_META_BASE + IP_META_BLOCKS      */
#define BLOCK_SHIFT   5                 /* struct ip_block has 32 bytes       */
#define CHECK_DISP    3                 /* of em_check_entry: the key, negated */
#define FAST          0x7fd00000        /* IP_FAST_BASE                       */
#define ENTRY_CHECK   32
        .p2align 4
rt_find_stub:
        mov     %rax, %fs:0x00
        SAVE_FLAGS
        mov     %rdx, %rax
        shr     $47, %rax               /* no address: its high bits may be a key's modes */
        jne     4f
        mov     %rbx, %fs:0x18
        movabs  $0x9e3779b97f4a7c15, %rcx
        mov     %rdx, %rax
        shr     $23, %rax
        imul    %rcx, %rax
        shr     $40, %rax
        imul    %rdx, %rcx              /* its upper bits are the tag         */
        shr     $(32 + TT_TAG_SHIFT), %rcx
        shl     $TT_TAG_SHIFT, %ecx
        lea     8(%rcx), %ebx           /* and as many places are looked at   */
        mov     %rdx, %rcx
        shr     $10, %rcx
        add     %ecx, %eax
        shl     $9, %eax                /* 64 entries of 8 bytes a kilobyte   */
        mov     %edx, %ecx
        and     $0x3f0, %ecx
        shr     $1, %ecx
        add     %ecx, %eax
1:      and     $(TT_BYTES - 1), %eax
        mov     TT(%rax), %ecx
        test    %ecx, %ecx
        je      6f
        xor     %ebx, %ecx
        shr     $TT_TAG_SHIFT, %ecx
        je      7f
8:      add     $8, %eax
        dec     %ebx
        test    $15, %bl
        jne     1b
6:      mov     %fs:0x18, %rbx
        jmp     4f
7:      mov     TT(%rax), %ecx
        test    $TT_NOREDIR, %ecx
        jne     8b
        mov     %rcx, %fs:TS_TMP2       /* as it is while the block holds     */
        and     $TT_BLOCK, %ecx
        cmp     $TT_BLOCK, %ecx         /* IP_TT_GONE                         */
        je      8b
        cmp     $0x7fffffff, %rdx
        ja      5f
        mov     TT + 4(%rax), %ebx
        sub     $ENTRY_CHECK, %ebx
        mov     %edx, %ecx
        neg     %ecx
        cmp     CHECK_DISP(%rbx), %ecx  /* that line will be needed at once, the block's is in no cache */
        jne     6b
        movzwl  %dx, %ecx
        mov     %rbx, FAST(,%rcx,8)
        /* Dropped meanwhile?  Then what we stored may be too late for a flush, also when
         * another translation has taken the place. */
        mov     TT(%rax), %eax
        cmp     %eax, %fs:TS_TMP2
        jne     3f
        mov     %rbx, %rcx
        mov     %fs:0x18, %rbx
        LOAD_FLAGS
        mov     %fs:0x00, %rax
        jmp     *%rcx
        /* Far code is entered by its own address: only keys below 2 GiB can be checked
         * at the entry, so only they are in the small table. */
5:      dec     %ecx
        shl     $BLOCK_SHIFT, %ecx
        cmp     BLOCKS(%rcx), %rdx
        jne     6b
        mov     TT + 4(%rax), %ebx
        mov     TT(%rax), %eax
        cmp     %eax, %fs:TS_TMP2
        jne     6b
        mov     %rbx, %fs:TS_TARGET
        mov     %fs:0x18, %rbx
        LOAD_FLAGS
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     *%fs:TS_TARGET
3:      movq    $rt_find_stub, FAST(,%rcx,8)
        mov     %fs:0x18, %rbx
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
