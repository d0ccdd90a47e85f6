/* Calls and returns that have been made before (count.c makes them known): translated code comes here when a block
 * begins elsewhere than in the present context (abi/count.h), with the template's address in RCX and the ct_where that
 * it wants in RDX, the guest's in their slots.  What is not known goes the long way, as if nothing had been.
 */
#include "runtime/core/entry.inc"

#define TS_CT_BASE    0x190
#define TS_CT_TOTAL   0x198     /* four of them */
#define TS_CT_WHERE   0x1b8
#define TS_CT_SLOW    0x1bc
#define TS_CT_FROM    0x1c0
#define TS_CT_LEVEL0  0x1c8
#define TS_CT_LEVEL1  0x1d0
#define TS_CT_TOP     0x1d8
#define TS_CT_LIMIT   0x1e0
#define TS_CT_PAIRS   0x1e8
#define TS_CT_POPPED  0x1f0
#define TS_CT_MASK    0x1f8
/* count.c asserts what follows. */
#define BLOCK_FUNCTION 48       /* ip_tr_block */
#define KIND           3        /* IP_CT_KIND */
#define KIND_CALL      1
#define WHERE_CALLED   0x40000000
#define MAX_WORDS      0x200000
#define CALLED_BITS    21       /* IP_CT_CALLED and below it less than IP_CT_MAX_WORDS */
#define CALLED_TOP     512
#define TAILED_TOP     513
#define CALLED_WORD    0x1fffff
#define RETURNED_TOP   0x90
#define FRAME          88       /* cg_frame */
#define F_COUNTER      8
#define F_OWN          16
#define F_CALL         32
#define F_FLAGS        40
#define F_INSN         44
#define F_SP           48
#define F_ACTIVE       56
#define F_BASE         64
#define F_WHERE        72
#define F_BLOCK        76
#define F_BEGAN        80
#define FLAG_TAIL      1
#define FLAGS_PLAIN    3        /* CG_TAIL, CG_SKIP */
#define FLAGS_ENDS     0x30b    /* IP_CT_F_ENDS */
#define FLAG_QUICK     0x100
#define FLAG_INNER     8
#define S_CALLEE       4        /* ip_ct_site */
#define S_ACTIVE       8
#define S_LINK         12
#define S_AT           16       /* two of them, as long */
#define S_LINK_INSNS   48
#define BY_FRAME       4        /* count.c */
#define PAIR_SHIFT     6        /* cg_pair */
#define HASH_SHIFT     14
#define P_FROM         0
#define P_BLOCK        4
#define P_KEY          8
#define P_TO           16
#define P_CALL         24
#define P_COUNTER      32
#define P_ACTIVE       40
#define P_BASE         48
#define P_WHERE        56
#define P_INSN         60
#define P_FLAGS        62
#define P_LEVEL        63
#define P_STAY         16
#define P_ABOVE        32
#define CALL_COUNT     40       /* cg_call */
#define CALL_COST      48
#define FUNC_SKIP      0x400000 /* CG_F_SKIP */

.macro TOTAL to
        mov     %fs:TS_CT_TOTAL, \to
        add     %fs:TS_CT_TOTAL + 8, \to
        add     %fs:TS_CT_TOTAL + 16, \to
        add     %fs:TS_CT_TOTAL + 24, \to
.endm

.macro GO_ON keep
        .if     \keep
        LOAD_FLAGS
        .endif
        LOAD_FEW
        mov     %fs:0x38, %rdi
.endm

/* EAX of a pair: who has left, ECX: template that is entered, RBX: the context that was there, as keys have it. */
.macro ARRIVE keep
        mov     %rax, %fs:0x00
        mov     %rbx, %fs:0x18
        mov     %rsi, %fs:0x30
        mov     %rdi, %fs:0x38
        .if     \keep
        SAVE_FLAGS
        .endif
        cmpl    $0, %fs:TS_CT_SLOW
        jne     slow\keep
        mov     %fs:TS_CT_BASE, %rbx
        mov     %fs:TS_CT_TOP, %rdi
        mov     %fs:TS_CT_WHERE, %esi
        mov     %esi, %eax
        shr     $CALLED_BITS, %eax
        cmp     $CALLED_TOP, %eax
        jne     1f
        and     $CALLED_WORD, %esi      /* a call: its site's word is who has left */
        lea     KIND_CALL(,%esi,8), %eax
        lea     8(%rsp), %rsi
        jmp     look_up\keep
1:      cmp     $TAILED_TOP, %eax
        je      tail\keep
        shr     $24, %esi
        cmp     $RETURNED_TOP, %esi
        je      return\keep
        mov     %fs:TS_CT_FROM, %rax
        test    %rax, %rax
        je      own\keep
        mov     %eax, %esi
        and     $KIND, %esi
        cmp     $KIND_CALL, %esi
        lea     8(%rsp), %rsi
        je      look_up\keep
        jb      3f
        test    $KIND_CALL, %al         /* a return has both bits */
        jne     slow\keep
        cmp     %rsp, F_SP(%rdi)        /* a jump that has left frames */
        jbe     slow\keep
3:      mov     %rax, %rdx
        shr     $32, %rdx
        lea     (%eax,%edx,8), %eax     /* left in its middle: the template goes on there */
        mov     F_BLOCK(%rdi), %edx     /* within the function? */
        test    %edx, %edx
        je      slow\keep
        mov     BLOCK_FUNCTION(%rdx), %edx
        cmp     BLOCK_FUNCTION(%rcx), %edx
        je      look_up\keep
leaves\keep:
        testb   $FLAG_TAIL, F_FLAGS(%rdi)
        je      4f
        testl   $FUNC_SKIP, BLOCK_FUNCTION(%rcx)
        jne     4f
        /* Back into a part of the function that has jumped here? */
        mov     F_BLOCK - FRAME(%rdi), %edx
        test    %edx, %edx
        je      slow\keep
        mov     BLOCK_FUNCTION(%rdx), %edx
        cmp     BLOCK_FUNCTION(%rcx), %edx
        je      slow\keep
4:      mov     F_SP(%rdi), %rsi        /* ends with its caller */
        jmp     look_up\keep

tail\keep:
        and     $CALLED_WORD, %esi      /* as of a call, but by a jump */
        lea     (,%esi,8), %eax
        jmp     leaves\keep

/* Nobody has left: the frame is the key, as it began and its context; one that has none yet ran at its level last. */
own\keep:
        mov     F_BLOCK(%rdi), %eax
        test    %eax, %eax
        je      slow\keep
        or      $BY_FRAME, %eax
        mov     F_OWN(%rdi), %rbx
        testl   $FLAG_QUICK, F_FLAGS(%rdi)
        je      look_up\keep
        mov     F_BASE(%rdi), %rbx

/* RSI: RSP that ends a new frame, RDI: newest one */
look_up\keep:
        lea     (%rcx,%rax,2), %edx
        add     %ebx, %edx
        imul    $0x9e3779b1, %edx, %edx
        shr     $HASH_SHIFT, %edx
        shl     $PAIR_SHIFT, %edx
        and     %fs:TS_CT_MASK, %edx
        add     %fs:TS_CT_PAIRS, %rdx
        cmp     %ecx, P_BLOCK(%rdx)
        jne     8f
        cmp     %eax, P_FROM(%rdx)
        jne     8f
        cmp     %rbx, P_KEY(%rdx)
        je      9f
8:      xor     $1 << PAIR_SHIFT, %rdx  /* its neighbour */
        cmp     %ecx, P_BLOCK(%rdx)
        jne     slow\keep
        cmp     %eax, P_FROM(%rdx)
        jne     slow\keep
        cmp     %rbx, P_KEY(%rdx)
        jne     slow\keep
9:      movzbl  P_FLAGS(%rdx), %eax
        test    $P_STAY, %al
        jne     stay\keep
        cmp     %fs:TS_CT_LIMIT, %rdi
        jae     slow\keep
        mov     %ecx, FRAME + F_BLOCK(%rdi)
        mov     P_ACTIVE(%rdx), %rcx
        mov     (%rcx), %ebx
        test    $P_ABOVE, %al
        movzbl  P_LEVEL(%rdx), %eax
        jne     5f
        cmp     %eax, %ebx
        jne     known\keep
5:      cmp     %eax, %ebx
        jb      known\keep
        inc     %ebx
        mov     %ebx, (%rcx)
        add     $FRAME, %rdi
        mov     %rdi, %fs:TS_CT_TOP
        mov     %rsi, F_SP(%rdi)
        mov     %rcx, F_ACTIVE(%rdi)
        mov     P_COUNTER(%rdx), %rbx
        mov     %rbx, F_COUNTER(%rdi)
        mov     P_CALL(%rdx), %rcx
        mov     %rcx, F_CALL(%rdi)
        mov     P_INSN(%rdx), %eax      /* and flags */
        movzwl  %ax, %esi
        mov     %esi, F_INSN(%rdi)
        shr     $16, %eax
        and     $FLAGS_PLAIN, %eax
        mov     %eax, F_FLAGS(%rdi)
        TOTAL   %rbx
        mov     %rbx, F_BEGAN(%rdi)
        incq    CALL_COUNT(%rcx)
        mov     P_TO(%rdx), %rbx
        mov     %rbx, F_OWN(%rdi)
stay\keep:
        mov     P_BASE(%rdx), %rbx
        mov     P_WHERE(%rdx), %edx
        mov     %rbx, F_BASE(%rdi)
        mov     %edx, F_WHERE(%rdi)
there\keep:
        mov     %rbx, %fs:TS_CT_BASE
        mov     %edx, %fs:TS_CT_WHERE
        movq    $0, %fs:TS_CT_FROM
        movq    $0, %fs:TS_CT_POPPED
        GO_ON   \keep
        jmp     *%fs:TS_RESUME

/* The level is another than it was: RCX is the template again. */
known\keep:
        mov     FRAME + F_BLOCK(%rdi), %ecx
        jmp     slow\keep

/* RSP is where the call has found it: frames at or below it end. */
return\keep:
        cmp     %rsp, F_SP(%rdi)
        ja      slow\keep
        testl   $~FLAGS_ENDS, F_FLAGS(%rdi)
        jne     slow\keep
        TOTAL   %rbx
6:      mov     F_CALL(%rdi), %rsi
        mov     %rbx, %rax
        sub     F_BEGAN(%rdi), %rax
        add     %rax, CALL_COST(%rsi)
        mov     F_ACTIVE(%rdi), %rsi
        decl    (%rsi)
        sub     $FRAME, %rdi
        cmp     %rsp, F_SP(%rdi)
        ja      10f
        testl   $~FLAGS_ENDS, F_FLAGS(%rdi)
        je      6b
10:     mov     %rdi, %fs:TS_CT_TOP
        cmp     %rsp, F_SP(%rdi)
        jbe     7f
        cmp     %edx, F_WHERE(%rdi)
        jne     7f
        mov     F_BASE(%rdi), %rbx
        jmp     there\keep
7:      lea     FRAME(%rdi), %rax
        mov     %rax, %fs:TS_CT_POPPED
        cmp     %rsp, F_SP(%rdi)
        jbe     slow\keep              /* at a frame that C has to leave */
        movl    $-1, %fs:TS_CT_WHERE    /* IP_CT_NOWHERE */
        movq    $0, %fs:TS_CT_FROM
        /* Blocks that have counters of their own? */
        mov     F_BLOCK(%rdi), %esi
        test    %esi, %esi
        je      slow\keep
        mov     BLOCK_FUNCTION(%rsi), %edx
        cmp     %edx, BLOCK_FUNCTION(%rcx)
        je      own\keep

slow\keep:
        GO_ON   \keep
        jmp     rt_slow_stub
.endm

/* ---- Calls and returns that the words beside the blocks' counters tell of ------------------------------------- */

.macro BACK keep
        .if     \keep
        LOAD_FLAGS
        .endif
        LOAD_FOUR
        jmp     *%fs:TS_RESUME
.endm

.macro KNOWN
        mov     %edx, %edx
        mov     %rdx, %fs:TS_RESUME
.endm

.macro UNKNOWN
        shr     $32, %rdx
        mov     %rdx, %fs:TS_RESUME
.endm

/* RBX: word of the site of the call that is on its way.  8 follows if there is none, but a tail call perhaps. */
.macro WORD keep
        mov     %rax, %fs:0x00
        mov     %rbx, %fs:0x18
        .if     \keep
        SAVE_FLAGS
        .endif
        mov     %fs:TS_CT_WHERE, %ebx
        sub     $WHERE_CALLED, %ebx
        cmp     $MAX_WORDS, %ebx
        jae     8f
.endm

.macro TAIL_WORD
        sub     $MAX_WORDS, %ebx
        cmp     $MAX_WORDS, %ebx
        jae     9f
.endm

/* RBX: the site, if it calls what ECX says. */
.macro SITE field
        mov     %fs:TS_CT_BASE, %rax
        lea     (%rax,%rbx,8), %rbx
        cmp     %ecx, \field(%rbx)
        jne     9f
        cmpl    $0, %fs:TS_CT_SLOW
        jne     9f
.endm

/* RAX: the new frame, RDX: the counters of the function at this level of recursion */
.macro ENTER keep, level, flags
        add     $S_AT + 16 * \level - CALL_COUNT, %rbx
        mov     %rbx, F_CALL(%rax)
        incq    CALL_COUNT(%rbx)
        movq    $FLAG_QUICK + \flags, F_FLAGS(%rax)
        mov     %rdx, %fs:TS_CT_BASE
        mov     %rdx, F_BASE(%rax)
        TOTAL   %rcx
        mov     %rcx, F_BEGAN(%rax)
        BACK    \keep
.endm

.macro PUSH keep, tail, led
        SITE    S_CALLEE
        mov     %fs:TS_CT_TOP, %rax
        cmp     %fs:TS_CT_LIMIT, %rax
        jae     9f
        lea     8(%rsp), %rcx
        .if     \tail
        cmp     %rcx, F_SP(%rax)        /* ends with its caller */
        jne     9f
        cmpl    $0, S_LINK(%rbx)        /* by way of what leads on: as a call (cg_led) */
        jne     \led
        .endif
        .if     \tail == 0
led\keep:
        .endif
        KNOWN
        add     $FRAME, %rax
        mov     %rax, %fs:TS_CT_TOP
        mov     %rcx, F_SP(%rax)
        mov     (%rbx), %rcx            /* where and callee are where and block of the frame */
        mov     %rcx, F_WHERE(%rax)
        mov     %ecx, %fs:TS_CT_WHERE
        mov     S_ACTIVE(%rbx), %ecx
        mov     %fs:TS_CT_LEVEL0, %rdx
        lea     (%rdx,%rcx,8), %rcx
        mov     %rcx, F_ACTIVE(%rax)
        cmpl    $1, (%rcx)
        incl    (%rcx)
        jnc     1f
        ENTER   \keep, 0, \tail
1:      mov     %fs:TS_CT_LEVEL1, %rdx
        ENTER   \keep, 1, FLAG_INNER + \tail
.endm

.macro CALLED keep
        WORD    \keep
        PUSH    \keep, 0
8:      TAIL_WORD
        PUSH    \keep, FLAG_TAIL, led\keep
9:      UNKNOWN
        BACK    \keep
.endm

/* The frame at RAX ends; RBX is free. */
.macro SETTLE free
        TOTAL   %rbx
        sub     F_BEGAN(%rax), %rbx
        mov     F_CALL(%rax), \free
        add     %rbx, CALL_COST(\free)
        mov     F_ACTIVE(%rax), \free
        decl    (\free)
.endm

/* On if RCX is 0. */
.macro UNLESS_ZERO to
        jrcxz   .Lzero\@
        jmp     \to
.Lzero\@:
.endm

/* What leads on is counted at the call's site, and the call is still on its way.  No flag is touched, for a jump follows,
 * and before one flags live: keeping them took most of the time. */
.macro LINKED
        mov     %rax, %fs:0x00
        mov     %rbx, %fs:0x18
        mov     %rcx, %rbx
        mov     %fs:TS_CT_WHERE, %eax
        lea     -WHERE_CALLED(%rax), %eax
        mov     $CALLED_BITS + 1, %ecx    /* of calls or tail calls */
        shrx    %ecx, %eax, %ecx
        UNLESS_ZERO 9f
        mov     $MAX_WORDS - 1, %ecx
        pext    %ecx, %eax, %eax
        mov     %fs:TS_CT_BASE, %rcx
        lea     (%rcx,%rax,8), %rax
        mov     S_LINK(%rax), %ecx
        not     %ecx
        lea     1(%rcx,%rbx), %ecx
        UNLESS_ZERO 9f
        mov     %fs:TS_CT_SLOW, %ecx
        UNLESS_ZERO 9f
        mov     %edx, %edx
        mov     %rdx, %fs:TS_RESUME
        mov     $32, %ecx
        shrx    %rcx, %rbx, %rbx
        mov     S_LINK_INSNS(%rax), %rcx
        lea     (%rcx,%rbx), %rcx
        mov     %rcx, S_LINK_INSNS(%rax)
        mov     %fs:TS_CT_TOTAL, %rcx
        lea     (%rcx,%rbx), %rcx
        mov     %rcx, %fs:TS_CT_TOTAL
        BACK    0
9:      mov     $32, %ecx
        shrx    %rcx, %rdx, %rdx
        mov     %rdx, %fs:TS_RESUME
        BACK    0
.endm

        .section rt_border, "ax", @progbits
        .p2align 4
        .globl  cg_called_stub, cg_called_flags_stub, cg_linked_stub, cg_returned_stub
cg_called_stub:
        CALLED  0
        .p2align 4
cg_returned_stub:
        mov     %rax, %fs:0x00
        mov     %rbx, %fs:0x18
        mov     %fs:TS_CT_TOP, %rax
1:      cmp     %rsp, F_SP(%rax)
        jne     9f
        testl   $~FLAGS_ENDS, F_FLAGS(%rax)
        jne     9f
        cmpl    $0, %fs:TS_CT_SLOW
        jne     9f
        cmp     %rsp, F_SP - FRAME(%rax)
        jbe     2f
        cmp     %ecx, F_WHERE - FRAME(%rax)
        jne     9f
        KNOWN
        mov     %ecx, %fs:TS_CT_WHERE
        SETTLE  %rdx
        mov     F_BASE - FRAME(%rax), %rbx
        mov     %rbx, %fs:TS_CT_BASE
        sub     $FRAME, %rax
        mov     %rax, %fs:TS_CT_TOP
        BACK    0
/* Its caller has jumped to what ends, and ends with it. */
2:      mov     %rsi, %fs:0x30
        SETTLE  %rsi
        sub     $FRAME, %rax
        mov     %rax, %fs:TS_CT_TOP
        mov     %fs:0x30, %rsi
        jmp     1b
9:      UNKNOWN
        BACK    0
        .p2align 4
cg_linked_stub:
        LINKED
        .p2align 4
cg_called_flags_stub:
        CALLED  1

        .p2align 4
        .globl  cg_arrive_stub, cg_arrive_flags_stub
cg_arrive_stub:
        ARRIVE  0
        .p2align 4
cg_arrive_flags_stub:
        ARRIVE  1
        .section .note.GNU-stack,"",@progbits
