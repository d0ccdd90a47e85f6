/* The border between translated code and the runtime's C.
 *
 * Translated code arrives with every guest register in the host register of
 * the same name and RSP on the guest's stack: nothing may be pushed before RSP
 * is switched (red zone), and DF may be set.
 *
 * Offsets are those of struct tstate (abi_check.c asserts them).
 */
#define TS_RFLAGS     0x080
#define TS_PC         0x088
#define TS_TARGET     0x090
#define TS_EXIT_ID    0x098
#define TS_RT_SP      0x0b0
#define TS_CS_TOP     0x0c0
#define TS_SELF       0x0d0
#define TS_TMP2       0x0e8
#define TS_LAHF       0x09c
#define TS_ACC_ADDR   0x138
#define TS_STACK_LO   0x160
#define TS_STACK_HI   0x168
#define TS_STACK_SHARED 0x170
#define TS_REDZONE    0x178
#define TS_UMASK      0x0b8
#define RED_ZONE_MOST 1024
#define U_REDZONE     (1 << 23)         /* IP_U_REDZONE */
#define META_EXITS    0x6e001000        /* IP_META_BASE + IP_META_EXITS       */
#define IP_A_BASE_    0x0000500000000000
#define V_DISP        0x3c              /* IP_V_DISP: GS base is V_CONST less it */
#define TS_RESUME     0x148
#define TS_PENDING    0x1380    /* rt_thread.pending                          */
#define TS_IN_RUNTIME 0x1354    /* rt_thread.in_runtime                       */
#define TS_FLUSH_SEQ  0x1464    /* rt_thread.flush_seq                        */

        .text
        .globl  _start
        .type   _start, @function
_start:
        xor     %ebp, %ebp
        mov     %rsp, %rdi
        and     $-16, %rsp
        call    rt_main
        ud2

        .globl  rt_asm_begin, rt_asm_end, rt_enter_begin, rt_enter_end, rt_enter_restart
        .globl  rt_enter, rt_enter_jump, rt_resume, rt_exit_stub, rt_find_stub, rt_miss_stub, rt_slow_stub, rt_cs_sync_stub
        .p2align 4
rt_asm_begin:

.macro SAVE_GPRS
        mov     %rax, %fs:0x00
        mov     %rcx, %fs:0x08
        mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        mov     %rsp, %fs:0x20
        mov     %rbp, %fs:0x28
        mov     %rsi, %fs:0x30
        mov     %rdi, %fs:0x38
        mov     %r8,  %fs:0x40
        mov     %r9,  %fs:0x48
        mov     %r10, %fs:0x50
        mov     %r11, %fs:0x58
        mov     %r12, %fs:0x60
        mov     %r13, %fs:0x68
        mov     %r14, %fs:0x70
        mov     %r15, %fs:0x78
.endm

.macro SAVE_GUEST
        SAVE_GPRS
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        popq    %fs:TS_RFLAGS
        pushq   $0x202                  /* DF, AC, TF of the guest are not ours */
        popfq
        movl    $2, %fs:TS_IN_RUNTIME   /* no flush yet: exit_id has a meaning */
        mov     %fs:TS_SELF, %rdi
        xor     %ebp, %ebp
.endm

.macro LOAD_GUEST jump
        pushq   %fs:TS_RFLAGS
        popfq
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        mov     %fs:0x18, %rbx
        mov     %fs:0x28, %rbp
        mov     %fs:0x30, %rsi
        mov     %fs:0x38, %rdi
        mov     %fs:0x40, %r8
        mov     %fs:0x48, %r9
        mov     %fs:0x50, %r10
        mov     %fs:0x58, %r11
        mov     %fs:0x60, %r12
        mov     %fs:0x68, %r13
        mov     %fs:0x70, %r14
        mov     %fs:0x78, %r15
        mov     %fs:0x20, %rsp
\jump:
        jmp     *%fs:TS_TARGET
.endm

/* A look-up in line missed: guest pc in RCX, the guest's RCX and RDX in their
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
        lahf
        seto    %al
        mov     %eax, %fs:TS_LAHF
        mov     %rcx, %rax
        shr     $47, %rax               /* no address: its high bits may be a key's modes */
        jne     4f
        mov     %rcx, %rax
        shr     $23, %rax
        movabs  $0x9e3779b97f4a7c15, %rdx
        imul    %rdx, %rax
        shr     $40, %rax
        mov     %rcx, %rdx
        shr     $10, %rdx
        add     %edx, %eax
        shl     $10, %eax               /* 64 entries of 16 bytes a kilobyte  */
        mov     %ecx, %edx
        and     $0x3f0, %edx
        add     %edx, %eax
        mov     $8, %edx
1:      and     $(TT_BYTES - 1), %eax
        cmp     TT(%rax), %rcx
        je      2f
        add     $16, %eax
        dec     %edx
        jne     1b
        jmp     4f
2:      mov     TT + 8(%rax), %edx
        cmp     $ENTRY_CHECK, %edx
        jbe     4f
        cmp     $0x7fffffff, %rcx
        ja      5f
        mov     %rax, %fs:TS_TMP2
        sub     $ENTRY_CHECK, %edx
        movzwl  %cx, %eax
        mov     %rdx, FAST(,%rax,8)
        /* Dropped meanwhile?  Then what we stored may be too late for a flush, also when
         * another translation has taken the place. */
        mov     %fs:TS_TMP2, %rax
        cmp     TT(%rax), %rcx
        jne     3f
        add     $ENTRY_CHECK, %edx
        cmp     TT + 8(%rax), %edx
        jne     3f
        sub     $ENTRY_CHECK, %edx
        mov     %fs:TS_LAHF, %eax
        add     $0x7f, %al
        sahf
        mov     %fs:0x00, %rax
        jmp     *%rdx
        /* Far code is entered by its own address: only keys below 2 GiB can be checked
         * at the entry, so only they are in the small table. */
5:      mov     %rdx, %fs:TS_TARGET
        mov     %fs:TS_LAHF, %eax
        add     $0x7f, %al
        sahf
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     *%fs:TS_TARGET
3:      movzwl  %cx, %eax
        movq    $rt_find_stub, FAST(,%rax,8)
4:      mov     %fs:TS_LAHF, %eax
        add     $0x7f, %al
        sahf
        mov     %fs:0x00, %rax
        /* fall through */

rt_miss_stub:
        mov     %rcx, %fs:TS_PC
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
        movl    $1, %fs:TS_IN_RUNTIME
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
        movl    $0, %fs:TS_IN_RUNTIME
        cmpl    $0, %fs:TS_PENDING
        je      1f
        call    rt_signal_step
1:      LOAD_GUEST rt_resume_jump

/* The frequent slow paths (shadow/fast.c): only what C may change is restored.
 * Not for the dispatcher's eyes: no gate, no delivery; a pending signal or a
 * set direction flag takes the long way out. */
        .p2align 4
        .globl  rt_light_stub
rt_light_stub:
        SAVE_GPRS
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        popq    %fs:TS_RFLAGS
        mov     %fs:TS_SELF, %rdi
        testl   $0x40400, %fs:TS_RFLAGS /* AC, DF */
        jne     light_flags
        call    rt_light
        test    %eax, %eax
        je      light_no
        cmpl    $0, %fs:TS_PENDING
        jne     rt_resume_any
        mov     %fs:TS_RFLAGS, %eax
        mov     %eax, %ecx
        shr     $11, %ecx
        and     $1, %ecx
        mov     %al, %ah
        mov     %cl, %al
        add     $0x7f, %al              /* OF */
        sahf
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        mov     %fs:0x30, %rsi
        mov     %fs:0x38, %rdi
        mov     %fs:0x40, %r8
        mov     %fs:0x48, %r9
        mov     %fs:0x50, %r10
        mov     %fs:0x58, %r11
        mov     %fs:0x20, %rsp
        jmp     *%fs:TS_TARGET
light_flags:
        pushq   $0x202
        popfq
light_no:
        /* rt_slow is entered as if nothing had happened; all is in the state. */
        movl    $2, %fs:TS_IN_RUNTIME
        mov     %fs:TS_SELF, %rdi
        xor     %ebp, %ebp
        call    rt_slow
        mov     %fs:TS_SELF, %rdi
        test    %eax, %eax
        jne     rt_enter
rt_resume_any:
        mov     %fs:TS_SELF, %rdi
        jmp     rt_resume

/* What rt_store_stub took: flags (OF by an addition), then registers. */
.macro STORE_RESTORE
        mov     %fs:TS_LAHF, %eax
        add     $0x7f, %al              /* OF */
        sahf
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        mov     %fs:0x18, %rbx
        mov     %fs:0x30, %rsi
.endm

/* A store met V != 0.  The common case is the first store to fresh memory:
 * addressable, so its bytes become defined (the clean translation stores
 * defined values only).  Everything else goes to C.  Registers are the guest's,
 * RSP included; flags are kept. */
        .p2align 4
        .globl  rt_store_stub
rt_store_stub:
        mov     %rax, %fs:0x00
        mov     %rcx, %fs:0x08
        mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        mov     %rsi, %fs:0x30
        lahf
        seto    %al
        mov     %eax, %fs:TS_LAHF
        mov     %fs:TS_EXIT_ID, %esi
        shl     $4, %esi
        mov     (META_EXITS+12)(%rsi), %ecx
        shr     $8, %ecx                /* size */
        mov     %fs:TS_ACC_ADDR, %rdx
        cmp     $16, %ecx
        ja      rt_store_c
        cmp     %fs:TS_STACK_LO, %rdx
        jb      1f
        cmp     %fs:TS_STACK_HI, %rdx
        jae     1f
        cmp     %rsp, %rdx              /* on the stack: addressable from RSP up */
        jae     2f
        lea     -128(%rsp), %rbx        /* and in the red zone, which is dirty then */
        cmp     %rbx, %rdx
        jb      rt_store_c
        cmpq    $0, %fs:TS_STACK_SHARED
        jne     rt_store_c
        orl     $U_REDZONE, %fs:TS_UMASK
        mov     %rdx, %rbx
        not     %rbx
        cmp     %rbx, %fs:TS_REDZONE
        jae     2f
        mov     %rbx, %fs:TS_REDZONE
        jmp     2f
1:      mov     $1, %eax
        shl     %cl, %eax
        dec     %eax
        mov     %edx, %ecx
        and     $7, %ecx
        shl     %cl, %eax               /* the A bits of the access */
        mov     %rdx, %rbx
        shr     $3, %rbx
        movabs  $IP_A_BASE_, %rcx
        .globl  rt_store_a_test, rt_store_c
rt_store_a_test:                        /* may fault: signal.c */
        test    %eax, (%rbx,%rcx)
        jnz     rt_store_c
        mov     (META_EXITS+12)(%rsi), %ecx
        shr     $8, %ecx
2:      cmp     $8, %ecx
        je      8f
        cmp     $4, %ecx
        je      4f
        cmp     $1, %ecx
        je      1f
        cmp     $2, %ecx
        je      3f
        cmp     $16, %ecx
        jne     rt_store_c
        movq    $0, %gs:(V_DISP+8)(%rdx)
8:      movq    $0, %gs:V_DISP(%rdx)
        jmp     9f
4:      movl    $0, %gs:V_DISP(%rdx)
        jmp     9f
3:      movw    $0, %gs:V_DISP(%rdx)
        jmp     9f
1:      movb    $0, %gs:V_DISP(%rdx)
9:      mov     (META_EXITS+8)(%rsi), %ecx
        mov     %rcx, %fs:TS_TARGET
        STORE_RESTORE
        jmp     *%fs:TS_TARGET
rt_store_c:
        STORE_RESTORE
        jmp     rt_slow_stub

/* The call stack does not match at a ret (longjmp, stack switch, ...): drop
 * what lies below RSP.  RAX = return address (kept), RCX and RDX free, flags
 * kept, RSP still at the return address slot. */
        .p2align 4
rt_cs_sync_stub:
        mov     %rsp, %fs:TS_TMP2
        mov     %rsp, %rcx
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        push    %rax
        mov     %fs:TS_CS_TOP, %rdx
1:      mov     8(%rdx), %rax           /* ~slot; the sentinel's slot is ~0     */
        not     %rax
        cmp     %rcx, %rax
        ja      2f
        lea     -16(%rdx), %rdx
        jb      1b
2:      mov     %rdx, %fs:TS_CS_TOP
        pop     %rax
        popfq
        mov     %fs:TS_TMP2, %rsp
        jmp     *%fs:TS_RESUME

/* A return while bytes below RSP are marked defined: mark them undefined again.
 * As above: RAX kept, RCX and RDX free, flags kept. */
        .p2align 4
        .globl  rt_red_zone_stub
rt_red_zone_stub:
        mov     %rsp, %fs:TS_TMP2
        mov     %rsp, %rdx
        mov     %fs:TS_REDZONE, %rcx
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        movq    $0, %fs:TS_REDZONE
        andl    $~U_REDZONE, %fs:TS_UMASK
        not     %rcx
        cmp     %fs:TS_STACK_LO, %rcx
        jb      2f
        cmp     %fs:TS_STACK_HI, %rdx
        ja      2f
        push    %rax
        mov     %rdx, %rax
        sub     %rcx, %rax
        cmp     $RED_ZONE_MOST, %rax    /* RSP elsewhere meanwhile: nothing to do */
        pop     %rax
        ja      2f
1:      sub     $8, %rdx                /* may take in a few bytes below, undefined anyway */
        movq    $-1, %gs:V_DISP(%rdx)
        cmp     %rcx, %rdx
        ja      1b
2:      popfq
        mov     %fs:TS_TMP2, %rsp
        jmp     *%fs:TS_RESUME
rt_asm_end:

/* u32 rt_a_word(u64 a): the A bits at a; where there are none, all ones. */
        .globl  rt_a_word, rt_a_word_insn, rt_a_word_fault
        .p2align 4
rt_a_word:
rt_a_word_insn:
        mov     (%rdi), %eax
        ret
rt_a_word_fault:
        mov     $-1, %eax
        ret

/* rt_save_vec(struct tstate *ts): zmm0..31 (or what the CPU has) to vecsave.
 * esi: 2 = AVX-512, 1 = AVX, 0 = SSE. */
        .globl  rt_save_vec
        .p2align 4
rt_save_vec:
        cmp     $1, %esi
        ja      3f
        je      2f
        .irp    n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        movups  %xmm\n, 0xb40+64*\n(%rdi)
        .endr
        ret
2:
        .irp    n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovups %ymm\n, 0xb40+64*\n(%rdi)
        .endr
        ret
3:
        .irp    n,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31
        vmovups %zmm\n, 0xb40+64*\n(%rdi)
        .endr
        ret

        .section .note.GNU-stack,"",@progbits
