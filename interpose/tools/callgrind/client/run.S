/* From consume.c into code that generate.c has made, and back: RBX record, RBP struct cg_sim, RSI struct cg_place of the
 * record's block, RDI its counter; R12 ways of D1, R10 of I1, R13 their clock; R14 instructions and branches, R15 reads
 * and writes, R9 mispredicted branches, which are not yet in the thread's totals; R8 history of branches.  The rest is
 * for anybody.  simulate.h asserts the offsets. */
#define S_P        0
#define S_CLOCK    8
#define S_HISTORY  16
#define S_INSNS    24
#define S_SUM      32
#define S_SURPRISE 40
#define S_THREAD   48
#define S_D1       56
#define S_I1       64
#define S_LAST     72
#define S_CROSSING 80
#define P_EXITS    16 /* cg_place */
#define E_CODE     16 /* cg_exit */

        .text
/* Is the way to the record's block settled? (struct cg_sim *, struct cg_place *, code) */
        .p2align 4
        .globl  cg_run, cg_settled, cg_slow_cross, cg_slow_data, cg_slow_line, cg_slow_other
cg_run: push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        sub     $8, %rsp
        mov     %rdi, %rbp
        mov     S_P(%rbp), %rbx
        mov     S_CLOCK(%rbp), %r13
        mov     S_HISTORY(%rbp), %r8
        mov     S_D1(%rbp), %r12
        mov     S_I1(%rbp), %r10
        mov     S_INSNS(%rbp), %r14
        mov     S_SUM(%rbp), %r15
        mov     S_SURPRISE(%rbp), %r9
        jmp     *%rdx

/* RSI: place of the record before, which has been left.  It may be known where to. */
cg_slow_cross:
        mov     %r14, S_INSNS(%rbp)
        mov     %r15, S_SUM(%rbp)
        mov     %r9, S_SURPRISE(%rbp)
        mov     %r8, S_HISTORY(%rbp)
        mov     S_THREAD(%rbp), %rdi
        mov     %rbx, %rdx
        mov     S_LAST(%rbp), %rcx
        call    *S_CROSSING(%rbp)
        mov     S_INSNS(%rbp), %r14
        mov     S_SUM(%rbp), %r15
        mov     S_SURPRISE(%rbp), %r9
        mov     S_HISTORY(%rbp), %r8
        mov     S_I1(%rbp), %r10
        test    %rax, %rax
        je      1f
        mov     %rax, %rsi
        movzwl  4(%rbx), %ecx
        mov     P_EXITS(%rsi), %rdx
        lea     (%rcx,%rcx,2), %ecx
        jmp     *E_CODE(%rdx,%rcx,8)

cg_settled:
        mov     $1, %eax
1:      mov     %rbx, S_P(%rbp)
        mov     %r13, S_CLOCK(%rbp)
        mov     %r8, S_HISTORY(%rbp)
        mov     %r14, S_INSNS(%rbp)
        mov     %r15, S_SUM(%rbp)
        mov     %r9, S_SURPRISE(%rbp)
        add     $8, %rsp
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret

/* The slow ways: a function of C that returns the clock.  RCX: number of the access or line. */
.macro  SLOW function
        push    %rsi
        push    %rdi
        push    %r8
        push    %r9
        push    %r10
        mov     %r13, %r8
        mov     S_THREAD(%rbp), %rdi
        call    \function
        mov     %rax, %r13
        pop     %r10
        pop     %r9
        pop     %r8
        pop     %rdi
        pop     %rsi
        ret
.endm

cg_slow_data:                           /* RAX: address */
        mov     %rcx, %rdx
        mov     %rax, %rcx
        SLOW    cg_data
cg_slow_line:                           /* RAX: how many lines there are */
        mov     %rcx, %rdx
        mov     %rax, %rcx
        SLOW    cg_fetch
cg_slow_other:
        mov     %rcx, %rdx
        lea     8(%rbx), %rcx
        SLOW    cg_other
        .section .note.GNU-stack,"",@progbits
