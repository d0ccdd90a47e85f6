/* The shadow's frequent slow paths: entered from translated code, left without the full exit. */
#include "runtime/core/entry.inc"

#define TS_ACC_ADDR   0x138
#define TS_STACK_LO   0x160
#define TS_STACK_HI   0x168
#define TS_STACK_SHARED 0x170
#define TS_REDZONE    0x178
#define TS_UMASK      0x0b8
#define RED_ZONE_MOST 1024
#define RED_ZONE      128               /* SH_REDZONE                         */
#define GIVE_BACK_MOST 8192             /* SH_GIVE_BACK                       */
#define STORES_MOST   512               /* more are faster by a string instruction */
#define TS_TMP0       0x0d8
#define TS_VECSAVE    0xb40
#define U_REDZONE     (1 << 23)         /* IP_U_REDZONE */
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

/* What rt_store_stub took: flags (OF by an addition), then registers. */
.macro STORE_RESTORE
        LOAD_FLAGS
        LOAD_FEW
.endm

/* A store met V != 0.  The common case is the first store to fresh memory:
 * addressable, so its bytes become defined (the clean translation stores
 * defined values only).  Everything else goes to C.  Registers are the guest's,
 * RSP included; flags are kept. */
        .p2align 4
        .globl  rt_store_stub
rt_store_stub:
        mov     %rax, %fs:0x00          /* address in RCX, RCX in its slot */
        mov     %rcx, %fs:TS_ACC_ADDR
        mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        mov     %rsi, %fs:0x30
        mov     %rcx, %rdx
        SAVE_FLAGS
        mov     %fs:TS_EXIT_ID, %esi
        shl     $4, %esi
        mov     (META_EXITS+12)(%rsi), %ecx
        shr     $8, %ecx                /* size */
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
        lea     V_CONST_REST(%rdx,%rcx), %ebx
        and     $(CHUNK-1), %ebx
        cmp     %ecx, %ebx              /* comes to the end of a chunk: settle.c */
        jb      rt_store_c
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
4:      mov     %rsp, %fs:TS_TMP2
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
        .quad   rt_store_a_test, rt_store_c
        .quad   rt_a_word_insn, rt_a_word_fault

        .section .note.GNU-stack,"",@progbits
