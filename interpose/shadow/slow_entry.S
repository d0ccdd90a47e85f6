/* The shadow's frequent slow paths: entered from translated code, left without the full exit. */
#include "runtime/core/entry.inc"

#define TS_ACC_ADDR   0x138
#define TS_CS_BASE    0x118
#define CS_ENTRY      16                /* struct ip_csent */
#define CS_RETADDR    0
#define CS_ABOVE      8
#define TS_STACK_LO   0x160
#define TS_STACK_HI   0x168
#define TS_STACK_SHARED 0x170
#define TS_REDZONE    0x178
#define TS_ACC_INFO   0x140
#define TS_ACC_KIND   0x144
#define TS_UMASK      0x0b8
#define TS_VGPR       0x200
#define TS_VVEC       0x340
#define RED_ZONE_MOST 1024
#define RED_ZONE      128               /* SH_REDZONE                         */
#define GIVE_BACK_MOST 65536            /* SH_GIVE_BACK                       */
#define STORES_MOST   512               /* more are faster by a string instruction */
#define LOOKED_AT     4096              /* smaller ones are faster by one, for units of 64 bytes take long to wake */
#define TS_TMP0       0x0d8
#define TS_VECSAVE    0xb40
#define U_REDZONE     (1 << 23)         /* IP_U_REDZONE */
#define U_VEC0        32                /* IP_U_VEC0                          */
#define MOVE_DEFINED  0xffffff          /* IP_MOVE_DEFINED                    */
#define MOVE_REG_SHIFT 24               /* IP_MOVE_REG_SHIFT                  */
#define META_EXITS    0x6e001000        /* IP_META_BASE + IP_META_EXITS       */
#define IP_A_BASE_    0x0000500000000000
#define V_DISP        0x3c              /* IP_V_DISP: GS base is V_CONST less it */
#define CHUNK         0x40000           /* SH_CHUNK */
#define V_CONST_REST  0x15840           /* IP_V_CONST modulo it */
#define V_CONST       0x0000200005555840 /* IP_V_CONST                        */

        .section rt_border, "ax", @progbits
/* The frequent slow paths (shadow/fast.c): only what C may change is restored.
 * Not for the dispatcher's eyes: no gate, no delivery; a pending signal or a
 * set direction flag takes the long way out. */
        .p2align 4
        .globl  rt_light_stub, rt_load_stub
rt_load_stub:                           /* address in RCX, RCX in its slot */
        mov     %rcx, %fs:TS_ACC_ADDR
        mov     %fs:0x08, %rcx
        jmp     rt_slow_stub
        .p2align 4
rt_light_stub:
        LIGHT rt_light, light_flags, light_no, rt_resume_any
light_flags:
        pushq   $0x202
        popfq
light_no:
        /* rt_slow is entered as if nothing had happened; all is in the state. */
        movl    $AT_EXIT, %fs:TS_IN_RUNTIME
        mov     %fs:TS_SELF, %rdi
        xor     %ebp, %ebp
        call    rt_slow
        mov     %fs:TS_SELF, %rdi
        test    %eax, %eax
        jne     rt_enter
rt_resume_any:
        mov     %fs:TS_SELF, %rdi
        jmp     rt_resume

/* ---- First stores -------------------------------------------------------------------------------------------------
 * A store met V != 0.  The common case is the first store to fresh memory: addressable, so its bytes become defined (the
 * clean translation stores defined values only).  Everything else goes to C.  Each size has an entry of its own, with
 * flags and without: the address in RCX, RCX in its slot, where to go on in target.  So nothing but the V bytes, the A
 * bits and this thread's state is read.  Registers are the guest's, RSP included. */
.macro STORE_FLAGS keep
.if \keep
        add     $0x7f, %al
        sahf
        mov     %fs:0x00, %rax
.endif
.endm

/* A store below RSP at RCX, within the red zone: what is defined there is noted, then on at \on, or behind this.  RDX is
 * free. */
.macro NOTE_RED_ZONE on
        orl     $U_REDZONE, %fs:TS_UMASK
        mov     %rcx, %rdx
        not     %rdx
        btr     $63, %rdx
        cmp     %rdx, %fs:TS_REDZONE
        jae     \on
        mov     %rdx, %fs:TS_REDZONE
.endm

.macro STORE n, keep                    /* keep: the flags, in RAX */
.if \keep
        mov     %rax, %fs:0x00
        lahf
        seto    %al
.endif
        cmp     %fs:TS_STACK_LO, %rcx
        jb      4f
        lea     (\n - 1)(%rcx), %rcx
        cmp     %fs:TS_STACK_HI, %rcx
        lea     -(\n - 1)(%rcx), %rcx
        jae     3f
        cmp     %rsp, %rcx              /* on the stack: addressable from RSP up */
        jb      5f
1:
.if \n == 1
        movb    $0, %gs:V_DISP(%rcx)
.elseif \n == 2
        movw    $0, %gs:V_DISP(%rcx)
.elseif \n == 4
        movl    $0, %gs:V_DISP(%rcx)
.else
.irp    i,0,1,2,3,4,5,6,7
.if 8*\i < \n
        movq    $0, %gs:(V_DISP+8*\i)(%rcx)
.endif
.endr
.endif
        STORE_FLAGS \keep
        mov     %fs:0x08, %rcx
        jmp     *%fs:TS_TARGET
3:      cmp     %fs:TS_STACK_HI, %rcx
        jb      7f
4:      mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        mov     %rcx, %rbx
        shr     $3, %rbx
        movabs  $IP_A_BASE_, %rdx
        add     %rdx, %rbx
.if \n <= 16
8:      mov     (%rbx), %edx            /* may fault */
.else
8:      mov     (%rbx), %rdx
.endif
.if \n == 64
9:      or      4(%rbx), %rdx           /* the second half's over the first one's */
.endif
        mov     %rcx, %rbx
        and     $7, %ecx
        shr     %cl, %rdx
        mov     %rbx, %rcx
.if \n >= 32
        test    %edx, %edx
.else
        test    $((1 << (\n)) - 1), %edx /* the A bits of the access */
.endif
        jne     6f
        lea     (V_CONST_REST + \n)(%rcx), %edx
        test    $((CHUNK - 1) & -(\n)), %edx
        je      6f                      /* comes to the end of a chunk: settle.c */
        mov     %fs:0x10, %rdx
        mov     %fs:0x18, %rbx
        jmp     1b
5:      mov     %rdx, %fs:0x10          /* in the red zone, which is dirty then */
        mov     %rbx, %fs:0x18
        lea     -RED_ZONE(%rsp), %rdx
        cmp     %rdx, %rcx
        jb      6f
        cmpl    $0, %fs:TS_STACK_SHARED
        jne     6f
        NOTE_RED_ZONE 2f
2:      mov     %fs:0x10, %rdx
        jmp     1b
6:      mov     %fs:0x10, %rdx
        mov     %fs:0x18, %rbx
7:      STORE_FLAGS \keep
        jmp     rt_load_stub
        .pushsection rt_fixups, "a", @progbits
        .quad   8b, 6b
.if \n == 64
        .quad   9b, 6b
.endif
        .popsection
.endm

.irp    n, 1, 2, 4, 8, 16, 32, 64
        .p2align 5
store_\n:
        STORE   \n, 0
        .p2align 5
store_flags_\n:
        STORE   \n, 1
.endr

        .globl  rt_stores_stub
        .p2align 4
rt_stores_stub:                         /* ORDER IP_STORES_* */
.irp    n, 1, 2, 4, 8, 16, 32, 64
        .p2align 4                      /* IP_STORES_STEP */
        jmp     store_\n
.endr
.irp    n, 1, 2, 4, 8, 16, 32, 64
        .p2align 4
        jmp     store_flags_\n
.endr
        .p2align 4
        jmp     rt_load_stub

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
        btr     $63, %rcx
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
/* RSP, which was TMP0, has changed by an amount that the translation did not know, or a large one.  A frame that was
 * given back, with the red zone below it, becomes undefined; anything else goes to C.  All addresses are multiples of 8,
 * and stores lie at multiples of their size, for the guest may have alignment checked. */
        .p2align 4
        .globl  rt_give_back_stub
rt_give_back_stub:
        mov     %rax, %fs:0x00
        mov     %rcx, %fs:0x08
        mov     %rdx, %fs:0x10
        SAVE_FLAGS
        mov     %fs:TS_TMP0, %rdx
        mov     %rsp, %rcx
        sub     %rdx, %rcx
        jbe     3f
        cmp     $GIVE_BACK_MOST, %rcx
        ja      3f
        cmpl    $0, %fs:TS_STACK_SHARED
        jne     3f
        cmp     %fs:TS_STACK_HI, %rsp
        ja      3f
        sub     $RED_ZONE, %rdx
        cmp     %fs:TS_STACK_LO, %rdx
        jb      3f
        mov     %edx, %eax
        or      %esp, %eax
        test    $7, %al
        jne     3f
        mov     %fs:TS_CS_TOP, %rax     /* calls that were left (longjmp, exceptions), as rt_callstack_drop */
9:      cmp     %fs:TS_CS_BASE, %rax
        jbe     10f
        mov     CS_ABOVE(%rax), %rcx
        cmp     %rsp, %rcx
        ja      12f
        cmp     %fs:TS_STACK_LO, %rcx
        jbe     10f
11:     sub     $CS_ENTRY, %rax
        mov     %rax, %fs:TS_CS_TOP
        jmp     9b
12:     mov     CS_RETADDR(%rax), %rcx
        test    %rcx, %rcx
        jz      10f
        mov     CS_ABOVE(%rax), %rdx
13:     cmp     %rcx, -8(%rdx)
        .pushsection rt_fixups, "a", @progbits
        .quad   13b, 10f
        .popsection
        jne     11b
        cmp     %rcx, CS_RETADDR-CS_ENTRY(%rax)
        jne     10f
        cmp     %rdx, CS_ABOVE-CS_ENTRY(%rax)
        je      11b
10:     mov     %fs:TS_TMP0, %rdx
        sub     $RED_ZONE, %rdx
        mov     %rsp, %rcx
        sub     %fs:TS_TMP0, %rcx
        cmp     $STORES_MOST, %ecx
        ja      4f
        movups  %xmm0, %fs:TS_VECSAVE
        pcmpeqd %xmm0, %xmm0
        movq    $-1, %gs:V_DISP(%rdx)
        movq    $-1, %gs:(V_DISP-8)(%rsp)
        add     $8, %rdx
        and     $-16, %rdx
        mov     %rsp, %rcx
        and     $-16, %rcx
        sub     $64, %rcx
1:      movaps  %xmm0, %gs:V_DISP(%rdx)
        movaps  %xmm0, %gs:(V_DISP+16)(%rdx)
        movaps  %xmm0, %gs:(V_DISP+32)(%rdx)
        movaps  %xmm0, %gs:(V_DISP+48)(%rdx)
        add     $64, %rdx
        cmp     %rcx, %rdx
        jbe     1b
        movaps  %xmm0, %gs:V_DISP(%rcx)
        movaps  %xmm0, %gs:(V_DISP+16)(%rcx)
        movaps  %xmm0, %gs:(V_DISP+32)(%rcx)
        movaps  %xmm0, %gs:(V_DISP+48)(%rcx)
        movups  %fs:TS_VECSAVE, %xmm0
2:      mov     %fs:TS_EXIT_ID, %ecx
        shl     $4, %ecx
        mov     (META_EXITS+8)(%rcx), %ecx
        mov     %rcx, %fs:TS_TARGET
        LOAD_FLAGS
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     *%fs:TS_TARGET
4:      cmp     $LOOKED_AT, %ecx
        jb      7f
        cmpb    $0, rt_wide_marks(%rip)
        je      7f
        /* Of a large frame most is often as it was: what a load shows to be undefined still is not stored to.  Both ends
         * are stored to in any case, and so that no load follows a narrower store to the same bytes.  No registers but
         * those whose use does not slow legacy instructions down. */
        vmovdqu64 %zmm16, %fs:TS_VECSAVE
        vmovdqu64 %zmm17, %fs:TS_VECSAVE+64
        vmovdqu64 %zmm18, %fs:TS_VECSAVE+128
        kmovq   %k1, %fs:TS_VECSAVE+192
        vpternlogd $0xff, %zmm16, %zmm16, %zmm16
.irp    i,0,1,2,3,4,5,6,7
        movq    $-1, %gs:(V_DISP+8*\i)(%rdx)
.endr
        add     $64, %rdx
        and     $-64, %rdx
        mov     %rsp, %rcx
        and     $-64, %rcx
        sub     $256, %rcx
5:
.irp    i,0,1,2,3
        vmovdqa64 %zmm16, %gs:(V_DISP+64*\i)(%rdx)
.endr
6:      add     $256, %rdx
        cmp     %rcx, %rdx
        jae     8f
        vmovdqa64 %gs:V_DISP(%rdx), %zmm17
        vmovdqa64 %gs:(V_DISP+64)(%rdx), %zmm18
        vpternlogd $0x80, %gs:(V_DISP+128)(%rdx), %zmm18, %zmm17 /* and */
        vpandd  %gs:(V_DISP+192)(%rdx), %zmm17, %zmm17
        vpcmpneqd %zmm16, %zmm17, %k1
        kortestw %k1, %k1
        je      6b
        jmp     5b
8:
.irp    i,0,1,2,3
        vmovdqa64 %zmm16, %gs:(V_DISP+64*\i)(%rcx)
.endr
.irp    i,0,1,2,3,4,5,6,7
        movq    $-1, %gs:(V_DISP-64+8*\i)(%rsp)
.endr
        vmovdqu64 %fs:TS_VECSAVE, %zmm16
        vmovdqu64 %fs:TS_VECSAVE+64, %zmm17
        vmovdqu64 %fs:TS_VECSAVE+128, %zmm18
        kmovq   %fs:TS_VECSAVE+192, %k1
        jmp     2b
7:      mov     %rsp, %fs:TS_TMP2
        mov     %fs:TS_RT_SP, %rsp
        pushfq
        testl   $0x400, (%rsp)          /* DF */
        mov     %fs:TS_TMP2, %rsp
        jne     3f
        mov     %rdi, %fs:0x38
        movabs  $V_CONST, %rdi
        add     %rdx, %rdi
        add     $RED_ZONE, %ecx
        mov     $-1, %eax
        rep stosb
        mov     %fs:0x38, %rdi
        jmp     2b
3:      LOAD_FLAGS
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     rt_light_stub

/* ---- Plain moves of undefined data ------------------------------------------------------------------------------
 * As shadow/fast.c settles them: the address in RCX, RCX in its slot; what else is to be known stands in acc_info, and
 * where to go on in target, so that nothing but the V bytes, the A bits and this thread's state is read.  Whatever is not
 * plain, as it was, goes to C. */
.macro MOVE_BEGIN                       /* EBX = the register; flags kept */
        mov     %rax, %fs:0x00
        mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        SAVE_FLAGS
        mov     %fs:TS_ACC_INFO, %ebx
        mov     %ebx, %eax
        and     $MOVE_DEFINED, %eax
        test    %eax, %fs:TS_UMASK
        jne     rt_move_c
        shr     $MOVE_REG_SHIFT, %ebx
.endm

.macro MOVE_END
        LOAD_FLAGS
        LOAD_FOUR
        jmp     *%fs:TS_TARGET
.endm

/* \n bytes at RCX are addressable, else to C.  RAX and RDX are free.  red_zone: they are stored to. */
.macro MOVE_ADDRESSABLE n, red_zone=0
        cmp     %fs:TS_STACK_LO, %rcx
        jb      1f
        cmp     %fs:TS_STACK_HI, %rcx
        jae     1f
        cmpl    $0, %fs:TS_STACK_SHARED
        jne     rt_move_c
        lea     \n(%rcx), %rdx
        cmp     %fs:TS_STACK_HI, %rdx
        ja      rt_move_c
        cmp     %rsp, %rcx
        jae     2f
        lea     -RED_ZONE(%rsp), %rdx
        cmp     %rdx, %rcx
        jb      rt_move_c
.if \red_zone
        NOTE_RED_ZONE 2f
.endif
        jmp     2f
1:      mov     %rcx, %rdx
        shr     $3, %rdx
        movabs  $IP_A_BASE_, %rax
.if \n > 24
9:      mov     (%rax,%rdx), %rax       /* may fault */
.else
9:      mov     (%rax,%rdx), %eax
.endif
        mov     %rcx, %rdx
        and     $7, %ecx
        shr     %cl, %rax
        mov     %rdx, %rcx
.if \n == 32
        test    %eax, %eax
.else
        test    $((1 << (\n)) - 1), %eax
.endif
        jne     rt_move_c
2:
        .pushsection rt_fixups, "a", @progbits
        .quad   9b, rt_move_c
        .popsection
.endm

/* load: reads the V bits to RDX, whose upper part is what the register's becomes */
.macro MOVE_LOAD n, load:vararg
        MOVE_BEGIN
        MOVE_ADDRESSABLE \n
        \load
        jmp     rt_move_loaded
.endm

.macro MOVE_STORE n, red_zone, store:vararg
        MOVE_BEGIN
        MOVE_ADDRESSABLE \n, \red_zone
        mov     %fs:TS_VGPR(,%rbx,8), %rdx
        \store
        MOVE_END
.endm

/* The V bits of vector register EBX from RCX on, \words of them; clear: the others, or they stay. */
.macro MOVE_VLOAD words, clear
        MOVE_BEGIN
        MOVE_ADDRESSABLE 8*\words
        mov     %ebx, %edx
        shl     $6, %edx
.irp    i,0,1,2,3,4,5,6,7
.if \i < \words
        mov     %gs:(V_DISP+8*\i)(%rcx), %rax
        mov     %rax, %fs:(TS_VVEC+8*\i)(%rdx)
.elseif \clear
        movq    $0, %fs:(TS_VVEC+8*\i)(%rdx)
.endif
.endr
.irp    i,0,1,2,3,4,5,6,7
.if \i < \words - 1 || (\i >= \words && !\clear)
        or      %fs:(TS_VVEC+8*\i)(%rdx), %rax
.endif
.endr
        mov     %rax, %rdx
        add     $U_VEC0, %ebx
        jmp     rt_move_marked
.endm

.macro MOVE_VSTORE words
        MOVE_BEGIN
        MOVE_ADDRESSABLE 8*\words, 1
        shl     $6, %ebx
.irp    i,0,1,2,3
.if \i < \words
        mov     %fs:(TS_VVEC+8*\i)(%rbx), %rax
        mov     %rax, %gs:(V_DISP+8*\i)(%rcx)
.endif
.endr
        MOVE_END
.endm

.macro MOVE kind, how:vararg
        .p2align 4
move_\kind:
        \how
.endm

        .p2align 4
rt_move_loaded:                         /* RDX: V bits of register RBX */
        mov     %rdx, %fs:TS_VGPR(,%rbx,8)
rt_move_marked:                         /* RDX: is bit EBX of umask to be set? */
        mov     %fs:TS_UMASK, %rax
        mov     %rax, %rcx
        btr     %rbx, %rax
        bts     %rbx, %rcx
        test    %rdx, %rdx
        cmovne  %rcx, %rax
        mov     %rax, %fs:TS_UMASK
        MOVE_END
rt_move_c:
        LOAD_FLAGS
        LOAD_FOUR
        jmp     rt_light_stub

        MOVE    load1, MOVE_LOAD 1, movzbl %gs:V_DISP(%rcx), %edx
        MOVE    load2, MOVE_LOAD 2, movzwl %gs:V_DISP(%rcx), %edx
        MOVE    load4, MOVE_LOAD 4, mov %gs:V_DISP(%rcx), %edx
        MOVE    load8, MOVE_LOAD 8, mov %gs:V_DISP(%rcx), %rdx
        MOVE    sx1_4, MOVE_LOAD 1, movsbl %gs:V_DISP(%rcx), %edx
        MOVE    sx1_8, MOVE_LOAD 1, movsbq %gs:V_DISP(%rcx), %rdx
        MOVE    sx2_4, MOVE_LOAD 2, movswl %gs:V_DISP(%rcx), %edx
        MOVE    sx2_8, MOVE_LOAD 2, movswq %gs:V_DISP(%rcx), %rdx
        MOVE    sx4_8, MOVE_LOAD 4, movslq %gs:V_DISP(%rcx), %rdx
        MOVE    store1, MOVE_STORE 1, 1, mov %dl, %gs:V_DISP(%rcx)
        MOVE    store2, MOVE_STORE 2, 1, mov %dx, %gs:V_DISP(%rcx)
        MOVE    store4, MOVE_STORE 4, 1, mov %edx, %gs:V_DISP(%rcx)
        MOVE    store8, MOVE_STORE 8, 1, mov %rdx, %gs:V_DISP(%rcx)
        MOVE    push, MOVE_STORE 8, 0, mov %rdx, %gs:V_DISP(%rcx)
        MOVE    vload16, MOVE_VLOAD 2, 0
        MOVE    vload16_zero, MOVE_VLOAD 2, 1
        MOVE    vload32, MOVE_VLOAD 4, 1
        MOVE    vstore16, MOVE_VSTORE 2
        MOVE    vstore32, MOVE_VSTORE 4

        .globl  rt_moves_stub
        .p2align 4
rt_moves_stub:                          /* ORDER enum ip_move */
.irp    kind, load1, load2, load4, load8, sx1_4, sx1_8, sx2_4, sx2_8, sx4_8, store1, store2, store4, store8, push, \
              vload16, vload16_zero, vload32, vstore16, vstore32
        .p2align 4                      /* IP_MOVES_STEP */
        jmp     move_\kind
.endr

/* Where origins are kept they go with what is moved, and C knows them: the same by number, in acc_kind. */
        .p2align 4
origin_move:
        mov     %rcx, %fs:TS_ACC_ADDR
        mov     %fs:0x08, %rcx
        LIGHT rt_origin_move, light_flags, light_no, rt_resume_any

        .globl  rt_origin_moves_stub
        .p2align 4
rt_origin_moves_stub:                   /* ORDER enum ip_move */
.irp    kind, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
        .p2align 4                      /* IP_MOVES_STEP */
        movb    $\kind, %fs:TS_ACC_KIND
        jmp     origin_move
.endr

        .text
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

        /* Where a fault of these is no fault (signal.c): at the first, go on at the second. */
        .section rt_fixups, "a", @progbits
        .quad   rt_a_word_insn, rt_a_word_fault

        .section .note.GNU-stack,"",@progbits
