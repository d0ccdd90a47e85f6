/* Plain moves of undefined data, between memory and a register: settled with nothing but the V bytes, the A bits, this
 * thread's state and, where origins are kept, their tables; what is not as expected goes to C, which begins anew. */
#include "shadow/slow_entry.inc"

#define TS_CS_LIMIT   0x120
#define CS_SIZE       16                /* of an entry of the call stack      */
#define TH_ORIGINS    0x1548            /* rt_thread.origin_tags              */
#define TH_TARGET_KEPT 0x1650           /* rt_thread.target_kept              */
#define ORIGINS_GPR   0                 /* struct ip_origins                  */
#define ORIGINS_VEC   64
#define ORIGIN_KINDS  0xe0000000        /* of a tag: of what it is the origin */
#define STACK_KIND    0x40000000        /* ORIGIN_STACK                       */
#define DEEP_KIND     0xa0000000        /* ORIGIN_DEEP                        */
#define DEEP          63                /* bit of origin_near.call: the same  */
#define UNKNOWN       1                 /* ORIGIN_UNKNOWN                     */
#define NEAR_CALL     264               /* struct origin_near, at TH_ORIGINS  */
#define NEAR_UNTAGGED 272
#define NEAR_STACKS   328
#define NEAR_OFF      336
#define NEAR_RECENT   848
#define PLACES        63                /* less one: ORIGIN_RECENT            */
#define PAGES         63                /* less one: ORIGIN_PAGES_OFF         */
#define PLACE_CHUNK   8                 /* struct origin_place                */
#define CHUNK_SHIFT   20                /* ORIGIN_CHUNK                       */
#define CHUNK_TAGS    8                 /* struct origin_chunk                */
#define CHUNK_OWNERS  16
#define CHUNK_BLOCKS  24
#define BLOCK_SHIFT   8                 /* ORIGIN_BLOCK                       */
#define UNTAGGED_SIZE 8                 /* struct origin_untagged             */
#define UNTAGGED_OF   16
#define UNTAGGED_ADDR 24
#define UNTAGGED_CTX  32
#define UNTAGGED_STATE 36
#define UNTAGGED_TAG  40
#define UNTAGGED_GENERATION 48
#define BLOCK_CTX     16                /* struct ip_heap_block               */
#define BLOCK_STATE   28
#define MULTIPLIER    0x9e3779b97f4a7c15 /* of hashes                     */
#define SINGLES       255               /* less one: HEAP_SINGLES             */
#define SINGLE_CTX    8                 /* struct heap_single                 */

        .section rt_border, "ax", @progbits
        .globl  rt_short_begin, rt_short_end
rt_short_begin:
/* ---- Without origins ---------------------------------------------------------------------------------------------
 * As shadow/fast.c settles them: the address in RCX, RCX in its slot; what else is to be known stands in acc_info, and
 * where to go on in target.  \c: where C takes over, all being as it was. */
.macro MOVE_BEGIN c=rt_move_c           /* EBX = the register; flags kept */
        mov     %rax, %fs:0x00
        mov     %rdx, %fs:0x10
        mov     %rbx, %fs:0x18
        SAVE_FLAGS
        mov     %fs:TS_ACC_INFO, %ebx
        mov     %ebx, %eax
        and     $MOVE_DEFINED, %eax
        test    %eax, %fs:TS_UMASK
        jne     \c
        shr     $MOVE_REG_SHIFT, %ebx
.endm

.macro MOVE_END
        LOAD_FLAGS
        LOAD_FOUR
        jmp     *%fs:TS_TARGET
.endm

/* \n bytes at RCX are addressable, else to C.  RAX and RDX are free.  red_zone: they are stored to.  What the program has
 * closed on a stack in use, only the A bits tell: stores do not ask them there. */
.macro MOVE_ADDRESSABLE n, red_zone=0, c=rt_move_c
        cmp     %fs:TS_STACK_LO, %rcx
        jb      1f
        cmp     %fs:TS_STACK_HI, %rcx
        jae     1f
        cmpl    $0, %fs:TS_STACK_SHARED
        jne     \c
        lea     \n(%rcx), %rdx
        cmp     %fs:TS_STACK_HI, %rdx
        ja      \c
        cmp     %rsp, %rcx
.if \red_zone
        jae     2f
.else
        jae     1f
.endif
        lea     -RED_ZONE(%rsp), %rdx
        cmp     %rdx, %rcx
        jb      \c
.if \red_zone
        NOTE_RED_ZONE 2f
        jmp     2f
.endif
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
        jne     \c
        ON_NO_THREADS_STACK %rax, \c
2:
        .pushsection rt_fixups, "a", @progbits
        .quad   9b, \c
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

/* The V bits of vector register EBX from RCX on, \words of them; clear: the others, or they stay.  RDX: any of all. */
.macro VEC_LOAD words, clear
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
.endm

.macro MOVE_VLOAD words, clear
        MOVE_BEGIN
        MOVE_ADDRESSABLE 8*\words
        VEC_LOAD \words, \clear
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

/* The same of \n bytes, 4 or 8, with 8 zero ones or more behind them. */
.macro LOW_LOAD n, clear
        mov     %ebx, %edx
        shl     $6, %edx
.if \n == 4
        mov     %gs:V_DISP(%rcx), %eax
.else
        mov     %gs:V_DISP(%rcx), %rax
.endif
        mov     %rax, %fs:TS_VVEC(%rdx)
        movq    $0, %fs:(TS_VVEC+8)(%rdx)
.irp    i,2,3,4,5,6,7
.if \clear
        movq    $0, %fs:(TS_VVEC+8*\i)(%rdx)
.else
        or      %fs:(TS_VVEC+8*\i)(%rdx), %rax
.endif
.endr
        mov     %rax, %rdx
.endm

.macro MOVE_LOW_LOAD n, clear
        MOVE_BEGIN
        MOVE_ADDRESSABLE \n
        LOW_LOAD \n, \clear
        add     $U_VEC0, %ebx
        jmp     rt_move_marked
.endm

.macro MOVE_LOW_STORE n
        MOVE_BEGIN
        MOVE_ADDRESSABLE \n, 1
        shl     $6, %ebx
        mov     %fs:TS_VVEC(%rbx), %rax
.if \n == 4
        mov     %eax, %gs:V_DISP(%rcx)
.else
        mov     %rax, %gs:V_DISP(%rcx)
.endif
        MOVE_END
.endm

.macro MOVE kind, how:vararg
        .p2align 4
move_\kind:
        \how
.endm

.macro EACH_MOVE do                     /* ORDER enum ip_move */
.irp    kind, load1, load2, load4, load8, sx1_4, sx1_8, sx2_4, sx2_8, sx4_8, store1, store2, store4, store8, push, \
              vload16, vload16_zero, vload32, vstore16, vstore32, vload4, vload8, vload4_zero, vload8_zero, vstore4, \
              vstore8
        .p2align 4                      /* IP_MOVES_STEP */
        \do \kind
.endr
.endm

.macro MOVES prefix, load, store, vload, vstore, low_load, low_store
        MOVE    \prefix\()load1, \load 1, movzbl %gs:V_DISP(%rcx), %edx
        MOVE    \prefix\()load2, \load 2, movzwl %gs:V_DISP(%rcx), %edx
        MOVE    \prefix\()load4, \load 4, mov %gs:V_DISP(%rcx), %edx
        MOVE    \prefix\()load8, \load 8, mov %gs:V_DISP(%rcx), %rdx
        MOVE    \prefix\()sx1_4, \load 1, movsbl %gs:V_DISP(%rcx), %edx
        MOVE    \prefix\()sx1_8, \load 1, movsbq %gs:V_DISP(%rcx), %rdx
        MOVE    \prefix\()sx2_4, \load 2, movswl %gs:V_DISP(%rcx), %edx
        MOVE    \prefix\()sx2_8, \load 2, movswq %gs:V_DISP(%rcx), %rdx
        MOVE    \prefix\()sx4_8, \load 4, movslq %gs:V_DISP(%rcx), %rdx
        MOVE    \prefix\()store1, \store 1, 1, mov %dl, %gs:V_DISP(%rcx)
        MOVE    \prefix\()store2, \store 2, 1, mov %dx, %gs:V_DISP(%rcx)
        MOVE    \prefix\()store4, \store 4, 1, mov %edx, %gs:V_DISP(%rcx)
        MOVE    \prefix\()store8, \store 8, 1, mov %rdx, %gs:V_DISP(%rcx)
        MOVE    \prefix\()push, \store 8, 0, mov %rdx, %gs:V_DISP(%rcx)
        MOVE    \prefix\()vload16, \vload 2, 0
        MOVE    \prefix\()vload16_zero, \vload 2, 1
        MOVE    \prefix\()vload32, \vload 4, 1
        MOVE    \prefix\()vstore16, \vstore 2
        MOVE    \prefix\()vstore32, \vstore 4
        MOVE    \prefix\()vload4, \low_load 4, 0
        MOVE    \prefix\()vload8, \low_load 8, 0
        MOVE    \prefix\()vload4_zero, \low_load 4, 1
        MOVE    \prefix\()vload8_zero, \low_load 8, 1
        MOVE    \prefix\()vstore4, \low_store 4
        MOVE    \prefix\()vstore8, \low_store 8
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

        MOVES   , MOVE_LOAD, MOVE_STORE, MOVE_VLOAD, MOVE_VSTORE, MOVE_LOW_LOAD, MOVE_LOW_STORE

.macro STUB kind
        jmp     move_\kind
.endm

        .globl  rt_moves_stub
        .p2align 4
rt_moves_stub:
        EACH_MOVE STUB

/* ---- With origins ------------------------------------------------------------------------------------------------
 * The same, and where what is moved comes from goes with it (origin.c), as long as what the thread keeps beside it has it
 * at hand.  No lock is taken: tags are words, and what they belong to is the program's to synchronise.  RAX, RDX, RSI,
 * RDI, R8 and R9 are free, the address stays in RCX. */
.macro ORIGIN_BEGIN
        mov     %rcx, %fs:TS_ACC_ADDR
        mov     %rsi, %fs:0x30
        mov     %rdi, %fs:0x38
        mov     %r8, %fs:0x40
        mov     %r9, %fs:0x48
        MOVE_BEGIN origin_move_c
        cmpq    $0, %fs:TH_ORIGINS
        je      origin_move_c
.endm

.macro ORIGIN_END
        LOAD_FLAGS
        LOAD_FOUR
        mov     %fs:0x30, %rsi
        mov     %fs:0x38, %rdi
        mov     %fs:0x40, %r8
        mov     %fs:0x48, %r9
        jmp     *%fs:TS_TARGET
.endm

/* \n bytes at RCX are whole granules, or lie in one. */
.macro GRANULES n
.if \n == 2
        mov     %ecx, %eax
        and     $3, %eax
        cmp     $2, %eax
        ja      origin_move_c
.elseif \n > 2
        test    $3, %cl
        jne     origin_move_c
.endif
.endm

/* RSI = the chunk of RCX. */
.macro CHUNK_OF_RCX
        mov     %rcx, %rdx
        shr     $CHUNK_SHIFT, %rdx
        mov     %edx, %eax
        and     $PLACES, %eax
        shl     $4, %eax
        mov     %fs:TH_ORIGINS, %rsi
        cmp     %rdx, NEAR_RECENT(%rsi,%rax)
        jne     origin_move_c
        mov     NEAR_RECENT+PLACE_CHUNK(%rsi,%rax), %rsi
        test    %rsi, %rsi
        je      origin_move_c
.endm

/* In chunk RSI: CF says whether the block that has \n bytes at RCX may have tags. */
.macro NOTED n
.if \n > 4
        cmp     $(256 - \n), %cl
        ja      origin_move_c
.endif
        mov     %ecx, %edx
        shr     $BLOCK_SHIFT, %edx
        mov     %edx, %eax
        and     $((1 << (CHUNK_SHIFT - BLOCK_SHIFT)) - 1), %eax
        shr     $4, %eax
        movzwl  CHUNK_BLOCKS(%rsi,%rax,2), %eax
        and     $15, %edx
        bt      %edx, %eax
.endm

/* RDI = where a table of granules, which begins at RDI, has that of RCX. */
.macro GRANULE_OF_RCX
        mov     %ecx, %eax
        and     $((1 << CHUNK_SHIFT) - 4), %eax
        add     %rax, %rdi
.endm

/* RSI = the chunk of RCX, RDI = where the tags of \n bytes there begin, of which some may be set. */
.macro TAGS_OF_RCX n
        CHUNK_OF_RCX
        NOTED   \n
        jnc     origin_move_c
        mov     CHUNK_TAGS(%rsi), %rdi
        GRANULE_OF_RCX
.endm

/* EAX = what all granules of \n bytes have, from RDI on. */
.macro ALIKE n
.if \n <= 4
        mov     (%rdi), %eax
.else
        mov     (%rdi), %rdx
        mov     %edx, %eax
        cmp     %eax, 4(%rdi)
        jne     origin_move_c
.irp    i,1,2,3
.if 8*\i < \n
        cmp     %rdx, 8*\i(%rdi)
        jne     origin_move_c
.endif
.endr
.endif
.endm

/* They all get EBX. */
.macro FILL n
.if \n <= 4
        mov     %ebx, (%rdi)
.else
        mov     %ebx, %eax
        mov     %rax, %rdx
        shl     $32, %rdx
        or      %rdx, %rax
.irp    i,0,1,2,3
.if 8*\i < \n
        mov     %rax, 8*\i(%rdi)
.endif
.endr
.endif
.endm

/* R8D = owner of the frame that holds \n bytes at RCX (frame_at); NEAR_CALL: where it has called the next newer one, 0:
 * it is the newest; with bit DEEP, if they are below its red zone. */
.macro FRAME n
        mov     %fs:TS_CS_TOP, %rsi
        cmp     %fs:TS_CS_LIMIT, %rsi
        jae     origin_move_c
        lea     8(%rsp), %rax
        xor     %r8d, %r8d
10:     cmp     %fs:TS_CS_BASE, %rsi
        jb      origin_move_c
        mov     CS_RETADDR(%rsi), %rdi
        mov     CS_ABOVE(%rsi), %rdx
        test    %rdi, %rdi
        je      origin_move_c
        cmp     %rax, %rdx
        jb      origin_move_c
8:      cmp     %rdi, -8(%rdx)          /* may fault */
        .pushsection rt_fixups, "a", @progbits
        .quad   8b, origin_move_c
        .popsection
        jne     origin_move_c
        lea     (\n + 8)(%rcx), %rax
        cmp     %rax, %rdx
        jae     11f
        cmp     %rdx, %rcx
        jb      origin_move_c
        lea     8(%rdx), %rax
        mov     %rdi, %r8
        sub     $CS_SIZE, %rsi
        jmp     10b
11:     mov     %fs:TH_ORIGINS, %rsi
        lea     -8-RED_ZONE(%rdx), %rax
        cmp     %rax, %rcx
        jae     12f
        bts     $DEEP, %r8
12:     mov     %r8, NEAR_CALL(%rsi)
        movabs  $MULTIPLIER, %rax
        imul    %rdi, %rax
        lea     -8(%rdx), %r8
        xor     %rax, %r8
        shr     $8, %r8
.endm

/* RCX is on no other thread's stack. */
.macro ON_NO_STACK
        cmpb    $0, rt_alone(%rip)
        jne     4f
        mov     %fs:TH_ORIGINS, %rsi
        mov     rt_stacks_changed(%rip), %rax
        cmp     %rax, NEAR_STACKS(%rsi)
        jne     origin_move_c
        mov     %rcx, %rdx
        shr     $12, %rdx
        mov     %edx, %eax
        and     $PAGES, %eax
        cmp     %rdx, NEAR_OFF(%rsi,%rax,8)
        jne     origin_move_c
4:
.endm

/* EAX = the tag of what is undefined among \n bytes at RCX. */
.macro ORIGIN_OF n
        GRANULES \n
        cmp     %fs:TS_STACK_LO, %rcx
        jb      3f
        cmp     %fs:TS_STACK_HI, %rcx
        jb      5f
3:      mov     %fs:TH_ORIGINS, %rsi
        mov     %rcx, %rdx
        sub     NEAR_UNTAGGED(%rsi), %rdx
        cmp     NEAR_UNTAGGED+UNTAGGED_SIZE(%rsi), %rdx
        jae     4f
        add     $\n, %rdx
        cmp     NEAR_UNTAGGED+UNTAGGED_SIZE(%rsi), %rdx
        ja      4f
        mov     origin_generation(%rip), %rdx
        cmp     %rdx, NEAR_UNTAGGED+UNTAGGED_GENERATION(%rsi)
        jne     4f
        mov     NEAR_UNTAGGED+UNTAGGED_OF(%rsi), %rdi
        mov     (%rdi), %rdx
        cmp     %rdx, NEAR_UNTAGGED+UNTAGGED_ADDR(%rsi)
        jne     4f
        mov     BLOCK_CTX(%rdi), %edx
        mov     BLOCK_STATE(%rdi), %eax
        shl     $32, %rax
        or      %rax, %rdx
        cmp     %rdx, NEAR_UNTAGGED+UNTAGGED_CTX(%rsi)
        jne     4f
        mov     NEAR_UNTAGGED+UNTAGGED_TAG(%rsi), %eax
        jmp     7f
4:      TAGS_OF_RCX \n
        ALIKE   \n
        test    %eax, %eax
        je      origin_move_c
        jmp     7f
5:      FRAME \n
        CHUNK_OF_RCX
        NOTED   \n
        jnc     6f
        mov     CHUNK_OWNERS(%rsi), %rdi
        test    %rdi, %rdi
        je      origin_move_c
        GRANULE_OF_RCX
        ALIKE   \n
        cmp     %r8d, %eax
        jne     6f                      /* of a frame that is gone */
        mov     CHUNK_TAGS(%rsi), %rdi
        GRANULE_OF_RCX
        ALIKE   \n
        test    %eax, %eax
        jne     7f
6:      mov     %fs:TH_ORIGINS, %rsi    /* stack_tag, heap_ctx_of: of the frame's function */
        mov     NEAR_CALL(%rsi), %rdx
        btr     $DEEP, %rdx
        dec     %rdx
        jns     8f
        mov     %fs:TS_EXIT_ID, %eax
        shl     $4, %eax
        mov     META_EXITS(%rax), %rdx
        shl     $16, %rdx
        shr     $16, %rdx
8:      movabs  $MULTIPLIER, %rax
        imul    %rdx, %rax
        shr     $32, %rax
        and     $SINGLES, %eax
        shl     $4, %eax
        cmp     %rdx, heap_singles(%rax)
        jne     origin_move_c
        mov     heap_singles+SINGLE_CTX(%rax), %edi
        cmp     %rdx, heap_singles(%rax) /* still: heap_ctx_of */
        jne     origin_move_c
        mov     %edi, %eax
        test    %eax, %eax
        je      origin_move_c
        mov     heap_ctx_outdated(%rip), %rdx
        cmpq    $0, (%rdx)
        jne     origin_move_c
        test    $ORIGIN_KINDS, %eax
        jne     origin_move_c
        or      $STACK_KIND, %eax
        btq     $DEEP, NEAR_CALL(%rsi)
        jnc     7f
        xor     $(STACK_KIND ^ DEEP_KIND), %eax
7:
.endm

/* \how: bts where register RBX is undefined now, btr where it is defined; \set: the first bit of umask for its kind, 0: it is
 * a general one, whose V bits are R9. */
.macro ORIGIN_MARKED how, set
.if \set
        add     $\set, %ebx
.else
        mov     %r9, %fs:TS_VGPR(,%rbx,8)
.endif
        mov     %fs:TS_UMASK, %rax
        \how    %rbx, %rax
        mov     %rax, %fs:TS_UMASK
        ORIGIN_END
.endm

/* RDX = the V bits that register RBX gets, \tags: the tags of its kind.  What C would look at is altered last, and of a
 * general register the V bits, for it may be the address's. */
.macro ORIGIN_LOADED n, set, tags
        test    %rdx, %rdx
        je      1f
        ORIGIN_OF \n
        mov     %fs:TH_ORIGINS, %rdi
        mov     %eax, \tags(%rdi,%rbx,4)
        ORIGIN_MARKED bts, \set
1:      ORIGIN_MARKED btr, \set
.endm

/* What register RBX has, whose V bits are RDX or these among others, has been stored. */
.macro ORIGIN_STORED n, tags
        test    %rdx, %rdx
        je      2f
        mov     %fs:TH_ORIGINS, %rdi
        mov     \tags(%rdi,%rbx,4), %ebx
        test    $ORIGIN_KINDS, %ebx
        jne     1f
        mov     $UNKNOWN, %ebx
1:      GRANULES \n
        cmp     %fs:TS_STACK_LO, %rcx
        jb      3f
        cmp     %fs:TS_STACK_HI, %rcx
        jae     3f
        FRAME \n
        TAGS_OF_RCX \n
        FILL    \n
        mov     CHUNK_OWNERS(%rsi), %rdi
        test    %rdi, %rdi
        je      origin_move_c
        GRANULE_OF_RCX
        mov     %r8d, %ebx
        FILL    \n
        jmp     2f
3:      ON_NO_STACK
        TAGS_OF_RCX \n
        FILL    \n
2:      ORIGIN_END
.endm

.macro OLOAD n, load:vararg
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE \n, 0, origin_move_c
        \load
        mov     %rdx, %r9
        ORIGIN_LOADED \n, 0, ORIGINS_GPR
.endm

.macro OSTORE n, red_zone, store:vararg
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE \n, \red_zone, origin_move_c
        mov     %fs:TS_VGPR(,%rbx,8), %rdx
        \store
.if \n == 1
        movzbl  %dl, %edx
.elseif \n == 2
        movzwl  %dx, %edx
.elseif \n == 4
        mov     %edx, %edx
.endif
        ORIGIN_STORED \n, ORIGINS_GPR
.endm

.macro OVLOAD words, clear
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE 8*\words, 0, origin_move_c
        VEC_LOAD \words, \clear
        ORIGIN_LOADED 8*\words, U_VEC0, ORIGINS_VEC
.endm

.macro OVSTORE words
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE 8*\words, 1, origin_move_c
        mov     %ebx, %esi
        shl     $6, %esi
        xor     %edx, %edx
.irp    i,0,1,2,3
.if \i < \words
        mov     %fs:(TS_VVEC+8*\i)(%rsi), %rax
        mov     %rax, %gs:(V_DISP+8*\i)(%rcx)
        or      %rax, %rdx
.endif
.endr
        ORIGIN_STORED 8*\words, ORIGINS_VEC
.endm

.macro OLOW_LOAD n, clear
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE \n, 0, origin_move_c
        LOW_LOAD \n, \clear
        ORIGIN_LOADED \n, U_VEC0, ORIGINS_VEC
.endm

.macro OLOW_STORE n
        ORIGIN_BEGIN
        MOVE_ADDRESSABLE \n, 1, origin_move_c
        mov     %ebx, %esi
        shl     $6, %esi
        mov     %fs:TS_VVEC(%rsi), %rdx
.if \n == 4
        mov     %edx, %edx
        mov     %edx, %gs:V_DISP(%rcx)
.else
        mov     %rdx, %gs:V_DISP(%rcx)
.endif
        ORIGIN_STORED \n, ORIGINS_VEC
.endm

        MOVES   o_, OLOAD, OSTORE, OVLOAD, OVSTORE, OLOW_LOAD, OLOW_STORE

.macro ORIGIN_STUB kind                 /* C takes it by its number, in acc_kind */
        movb    $number, %fs:TS_ACC_KIND
        jmp     move_o_\kind
.set    number, number + 1
.endm

        .globl  rt_origin_moves_stub
        .p2align 4
rt_origin_moves_stub:
.set    number, 0
        EACH_MOVE ORIGIN_STUB

#include "shadow/arith.inc"

rt_short_end:

/* ---- C takes over ------------------------------------------------------------------------------------------------
 * A signal may have had TS_TARGET lead elsewhere (signals/signal.c): C finds it itself on its way back. */
.macro TARGET_AGAIN
        cmpq    $0, %fs:TH_TARGET_KEPT
        je      1f
        mov     %fs:TH_TARGET_KEPT, %rax
        mov     %rax, %fs:TS_TARGET
        movq    $0, %fs:TH_TARGET_KEPT
1:
.endm

.macro TARGET_AS_IT_WAS
        TARGET_AGAIN
        LOAD_FLAGS
        LOAD_FOUR
.endm

        .p2align 4
rt_move_c:
        TARGET_AS_IT_WAS
        jmp     rt_light_stub

        .p2align 4
arith_c:                                /* nobody reads the flags */
        TARGET_AGAIN
        LOAD_SCRATCH
        jmp     rt_light_stub

        .p2align 4
vec_xmm_c:
        XMM_LOAD
vec_c:
        TARGET_AGAIN
        LOAD_FLAGS
        LOAD_SCRATCH
        jmp     rt_light_stub

        .p2align 4
arith_flags_c:                          /* of scratch registers RAX and RDX are all that is lost */
        TARGET_AS_IT_WAS
        jmp     rt_light_stub

        .p2align 4
origin_move_c:
        TARGET_AS_IT_WAS
        mov     %fs:0x30, %rsi
        mov     %fs:0x38, %rdi
        mov     %fs:0x40, %r8
        mov     %fs:0x48, %r9
        LIGHT rt_origin_move, light_flags, light_no, rt_resume_any

        .section .note.GNU-stack,"",@progbits
