/* The shadow's frequent slow paths: entered from translated code, left without the full exit. */
#include "shadow/slow_entry.inc"

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
        .globl  light_flags, light_no, rt_resume_any
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
        ON_NO_THREADS_STACK %rbx, 6f
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
 * As above: RAX kept, RCX and RDX free, flags kept.  What lies below them on a stack alone is undefined, too, so they are
 * marked without a count. */
        .p2align 4
        .globl  rt_red_zone_stub
rt_red_zone_stub:
        mov     %rax, %fs:0x00
        lahf
        seto    %al
        mov     %fs:TS_REDZONE, %rcx
        movq    $0, %fs:TS_REDZONE
        andl    $~U_REDZONE, %fs:TS_UMASK
        not     %rcx
        btr     $63, %rcx
        cmp     %fs:TS_STACK_LO, %rcx
        jb      2f
        cmp     %fs:TS_STACK_HI, %rsp
        ja      2f
        mov     %rsp, %rdx
        sub     %rcx, %rdx
        cmp     $RED_ZONE_MOST, %rdx    /* RSP elsewhere meanwhile: nothing to do */
        ja      2f
        lea     -RED_ZONE(%rsp), %rdx
        cmp     %rdx, %rcx
        jb      3f
        cmp     %fs:TS_STACK_LO, %rdx
        jb      3f
        cmpl    $0, %fs:TS_STACK_SHARED
        jne     3f                      /* another's bytes may be there */
        lea     -RED_ZONE/4(%rsp), %rdx
        cmp     %rdx, %rcx
        mov     $-1, %rcx
        jae     4f
.irp    i,0,1,2,3,4,5,6,7,8,9,10,11
        mov     %rcx, %gs:(V_DISP-RED_ZONE+8*\i)(%rsp)
.endr
4:
.irp    i,12,13,14,15
        mov     %rcx, %gs:(V_DISP-RED_ZONE+8*\i)(%rsp)
.endr
2:      STORE_FLAGS 1
        jmp     *%fs:TS_RESUME
3:      mov     %rsp, %rdx
1:      sub     $8, %rdx
        movq    $-1, %gs:V_DISP(%rdx)
        cmp     %rcx, %rdx
        ja      1b
        jmp     2b
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
        ja      3f                      /* rt_callstack_is_moved */
        jmp     10f
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
        mov     %fs:TS_REDZONE, %rcx    /* what is noted of the frame's red zone: marked with it */
        test    %rcx, %rcx
        je      20f
        not     %rcx
        btr     $63, %rcx
        cmp     %rdx, %rcx
        jb      20f
        movq    $0, %fs:TS_REDZONE
        andl    $~U_REDZONE, %fs:TS_UMASK
20:     mov     %rsp, %rcx
        sub     %fs:TS_TMP0, %rcx
        cmp     $STORES_MOST, %ecx
        ja      4f
19:     movups  %xmm0, %fs:TS_VECSAVE
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
2:      LOAD_FLAGS
        mov     %fs:0x00, %rax
        mov     %fs:0x08, %rcx
        mov     %fs:0x10, %rdx
        jmp     *%fs:TS_TARGET
4:      cmpb    $MARKS_YMM, rt_wide_marks(%rip)
        jb      7f
        je      14f
        cmp     $LOOKED_AT, %ecx
        jb      7f
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
        /* As above.  Legacy registers whose upper halves are zero get them back so that the CPU knows it, for else it merges
         * them into each result of a legacy instruction; and the ends are longer, for each branch here pushes one that tells
         * more out of what the CPU guesses the next ones by. */
14:     cmp     $YMM_LEAST, %ecx
        jb      19b
        vmovdqu %ymm0, %fs:TS_VECSAVE
        vmovdqu %ymm1, %fs:TS_VECSAVE+64
        vmovdqu %ymm2, %fs:TS_VECSAVE+128
        vpor    %ymm0, %ymm1, %ymm1
        vpor    %ymm2, %ymm1, %ymm1
        vextracti128 $1, %ymm1, %xmm1
        vptest  %xmm1, %xmm1
        sete    %al
        vpcmpeqd %ymm0, %ymm0, %ymm0
.irp    i,0,1,2,3
        movq    $-1, %gs:(V_DISP+8*\i)(%rdx)
.endr
        add     $32, %rdx
        and     $-32, %rdx
        mov     %rsp, %rcx
        and     $-32, %rcx
        sub     $512, %rcx
15:
.irp    i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqa %ymm0, %gs:(V_DISP+32*\i)(%rdx)
.endr
16:     add     $512, %rdx
        cmp     %rcx, %rdx
        jae     17f
        vmovdqa %gs:V_DISP(%rdx), %ymm1
        vmovdqa %gs:(V_DISP+32)(%rdx), %ymm2
.irp    i,1,2,3,4,5,6,7
        vpand   %gs:(V_DISP+64*\i)(%rdx), %ymm1, %ymm1
        vpand   %gs:(V_DISP+32+64*\i)(%rdx), %ymm2, %ymm2
.endr
        vpand   %ymm2, %ymm1, %ymm1
        vptest  %ymm0, %ymm1
        jc      16b
        jmp     15b
17:
.irp    i,0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15
        vmovdqa %ymm0, %gs:(V_DISP+32*\i)(%rcx)
.endr
.irp    i,0,1,2,3
        movq    $-1, %gs:(V_DISP-32+8*\i)(%rsp)
.endr
        test    %al, %al
        je      18f
        vmovdqu %fs:TS_VECSAVE, %xmm0
        vmovdqu %fs:TS_VECSAVE+64, %xmm1
        vmovdqu %fs:TS_VECSAVE+128, %xmm2
        jmp     2b
18:     vmovdqu %fs:TS_VECSAVE, %ymm0
        vmovdqu %fs:TS_VECSAVE+64, %ymm1
        vmovdqu %fs:TS_VECSAVE+128, %ymm2
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

        .text
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
