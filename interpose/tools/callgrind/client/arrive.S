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
#define TS_CT_TOP     0x1d8
#define TS_CT_LIMIT   0x1e0
#define TS_CT_PAIRS   0x1e8
#define TS_CT_POPPED  0x1f0
#define TS_CT_MASK    0x1f8
/* count.c asserts what follows. */
#define BLOCK_FUNCTION 48       /* ip_tr_block */
#define KIND           3        /* IP_CT_KIND */
#define KIND_CALL      1
#define CALLED_BITS    21       /* IP_CT_CALLED and below it less than IP_CT_MAX_WORDS */
#define CALLED_TOP     512
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
1:      shr     $24, %esi
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

/* Nobody has left: the frame is the key, as it began and where it ran last. */
own\keep:
        mov     F_BLOCK(%rdi), %eax
        test    %eax, %eax
        je      slow\keep
        or      $BY_FRAME, %eax
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

        .section rt_border, "ax", @progbits
        .p2align 4
        .globl  cg_arrive_stub, cg_arrive_flags_stub
cg_arrive_stub:
        ARRIVE  0
        .p2align 4
cg_arrive_flags_stub:
        ARRIVE  1
        .section .note.GNU-stack,"",@progbits
