/* Functions in Python stand for the program's (docs/hooks.md): a binding leads to an entry of the table, which calls
 * hook_common; that saves the arguments in a struct ip_hook_frame (abi/hook.h) on the program's stack and asks the
 * supervisor what to do, until it says that the call is over.  All state of a call lies on that stack, so a longjmp
 * that leaves it leaves nothing behind.
 *
 * The return address of hook_common says which entry was entered, and is the caller's frame in stack traces.
 *
 * The engine that translates finds markers here.  On the real CPU (INTERPOSE_NATIVE) the thunk has pushed the hooked
 * function, for callers within its file may rely on every register that it leaves alone; ip_native_ask speaks with
 * whoever runs the hooks, and what it gives as the function to call is already what lies behind the binding.
 */
#define ENTRIES  4096           /* IP_HOOK_ENTRIES */
#define REQ_HOOK 0x3201         /* INTERPOSE_RQ_HOOK */
#define SIZE     0x198          /* sizeof(struct ip_hook_frame) */
#define WORDS    0x00
#define ORIGINAL 0x38
#define TARGET   0x40
#define COPIED   0x48
#define ROOM     0x50
#define TOP      0x58
#define INTEGER  0x60
#define VECTORS  0x90
#define CHAIN    0x98
#define VECTOR   0xa0
#define RESULT   0x120
#define VRESULT  0x130
#define KEPT     0x150
#define CHANGED  0x188
#define CHANGES  0x190
#define PROCEED  1              /* enum ip_hook_answer */
#define CALL     2
#define OVER     3
#define F(field) -SIZE+(field)(%rbp)

.macro MARKER register
        rolq    $3, %rdi
        rolq    $13, %rdi
        rolq    $61, %rdi
        rolq    $51, %rdi
        xchgq   \register, \register
.endm

#ifdef INTERPOSE_NATIVE
/* From the hooked function and the entry's return address to that, the frame pointer, and the frame. */
.macro ENTER
        xchgq   %r11, (%rsp)
        xchgq   %r11, 8(%rsp)           /* R11 = the hooked function */
        xchgq   %rbp, (%rsp)            /* RBP = R11 of the caller */
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        subq    $SIZE, %rsp
        movq    %r11, ORIGINAL(%rsp)
        movq    %rbp, KEPT+48(%rsp)
        leaq    SIZE(%rsp), %rbp
        .cfi_def_cfa_register %rbp
.endm
.macro HOOKED                           /* RAX = the hooked function */
        movq    F(ORIGINAL), %rax
.endm
.macro ASK                              /* RAX = the request; RDX = what to do */
        movq    %rax, %rdi
        call    ip_native_ask
        movl    %eax, %edx
.endm
.macro PAST_BINDING                     /* call *%r11 past its binding */
        call    *%r11
.endm
#else
.macro ENTER
        pushq   %rbp
        .cfi_def_cfa_offset 16
        .cfi_offset %rbp, -16
        movq    %rsp, %rbp
        .cfi_def_cfa_register %rbp
        subq    $SIZE, %rsp
        movq    %r11, F(KEPT+48)
.endm
.macro HOOKED
        MARKER  %rcx
.endm
.macro ASK
        MARKER  %rbx
.endm
.macro PAST_BINDING
        MARKER  %rsi
.endm
#endif

        .text
        .globl  interpose_hook_entries
        .type   interpose_hook_entries, @function
        .balign 16
interpose_hook_entries:
        .cfi_startproc
        .rept   ENTRIES
        call    hook_common
        ret
        .balign 8
        .endr
        .cfi_endproc
        .size   interpose_hook_entries, . - interpose_hook_entries

        .globl  interpose_hook
        .type   interpose_hook, @function
        .balign 16
interpose_hook:
hook_common:
        .cfi_startproc
        ENTER
        movq    %rdi, F(INTEGER)
        movq    %rsi, F(INTEGER+8)
        movq    %rdx, F(INTEGER+16)
        movq    %rcx, F(INTEGER+24)
        movq    %r8, F(INTEGER+32)
        movq    %r9, F(INTEGER+40)
        movq    %rax, F(VECTORS)
        movq    %r10, F(CHAIN)
        movq    %rcx, F(KEPT)
        movq    %rsi, F(KEPT+8)
        movq    %rdi, F(KEPT+16)
        movq    %r8, F(KEPT+24)
        movq    %r9, F(KEPT+32)
        movq    %r10, F(KEPT+40)
        movq    %rax, F(RESULT)
        movq    %rdx, F(RESULT+8)
        movups  %xmm0, F(VRESULT)
        movups  %xmm1, F(VRESULT+16)
        movups  %xmm0, F(VECTOR)
        movups  %xmm1, F(VECTOR+16)
        movups  %xmm2, F(VECTOR+32)
        movups  %xmm3, F(VECTOR+48)
        movups  %xmm4, F(VECTOR+64)
        movups  %xmm5, F(VECTOR+80)
        movups  %xmm6, F(VECTOR+96)
        movups  %xmm7, F(VECTOR+112)
        HOOKED
        movq    %rax, F(ORIGINAL)
        movq    $REQ_HOOK, F(WORDS)
        movq    %rsp, F(WORDS+8)
        movq    8(%rbp), %rax
        movq    %rax, F(WORDS+16)
        movq    %rsp, F(TOP)
        movq    $0, F(CHANGES)
        xorl    %eax, %eax              /* entered */
ask:
        movq    %rax, F(WORDS+24)
        leaq    F(WORDS), %rax
        xorl    %edx, %edx
        ASK
        cmpl    $PROCEED, %edx
        jb      leave
        cmpl    $OVER, %edx
        jae     take

        /* Call the function, with the first words of the arguments on the stack. */
        movq    %rdx, F(WORDS+32)
        movq    F(COPIED), %rcx
        leaq    (,%rcx,8), %rax
        subq    %rax, %rsp
        cmpl    $CALL, %edx
        jne     3f
        andq    $-16, %rsp              /* the caller need not have aligned it for another function */
3:
        movq    %rsp, %rdi
        leaq    24(%rbp), %rsi
        rep movsq
        movq    F(CHANGES), %rcx
        movq    F(CHANGED), %rdx
1:
        jrcxz   2f
        movq    (%rdx), %rsi
        movq    8(%rdx), %rax
        movq    %rax, (%rsp,%rsi,8)
        addq    $16, %rdx
        decq    %rcx
        jmp     1b
2:
        movups  F(VECTOR), %xmm0
        movups  F(VECTOR+16), %xmm1
        movups  F(VECTOR+32), %xmm2
        movups  F(VECTOR+48), %xmm3
        movups  F(VECTOR+64), %xmm4
        movups  F(VECTOR+80), %xmm5
        movups  F(VECTOR+96), %xmm6
        movups  F(VECTOR+112), %xmm7
        movq    F(TARGET), %r11
        movq    F(CHAIN), %r10
        movq    F(INTEGER+40), %r9
        movq    F(INTEGER+32), %r8
        movq    F(INTEGER+24), %rcx
        movq    F(INTEGER+16), %rdx
        movq    F(INTEGER+8), %rsi
        movq    F(INTEGER), %rdi
        cmpl    $CALL, F(WORDS+32)
        movq    F(VECTORS), %rax
        je      plain
        PAST_BINDING
        jmp     back
plain:
        call    *%r11
back:
        movq    %rax, F(RESULT)
        movq    %rdx, F(RESULT+8)
        movups  %xmm0, F(VRESULT)
        movups  %xmm1, F(VRESULT+16)
        cmpl    $PROCEED, F(WORDS+32)
        jne     5f
        movq    %rcx, F(KEPT)
        movq    %rsi, F(KEPT+8)
        movq    %rdi, F(KEPT+16)
        movq    %r8, F(KEPT+24)
        movq    %r9, F(KEPT+32)
        movq    %r10, F(KEPT+40)
        cmpq    %r11, F(TARGET)         /* left alone: as it was before it had the target */
        je      5f
        movq    %r11, F(KEPT+48)
5:
        movq    F(TOP), %rsp
        movl    $1, %eax                /* returned */
        jmp     ask

take:   /* Page by page, for a stack grows by what is touched. */
        movq    F(ROOM), %rcx
1:
        cmpq    $4096, %rcx
        jbe     2f
        subq    $4096, %rsp
        movq    $0, (%rsp)
        subq    $4096, %rcx
        jmp     1b
2:
        subq    %rcx, %rsp
        movq    $0, (%rsp)
        movq    %rsp, F(TOP)
        movl    $2, %eax                /* has room */
        jmp     ask

leave:
        movups  F(VRESULT), %xmm0
        movups  F(VRESULT+16), %xmm1
        movq    F(RESULT), %rax
        movq    F(RESULT+8), %rdx
        movq    F(KEPT), %rcx
        movq    F(KEPT+8), %rsi
        movq    F(KEPT+16), %rdi
        movq    F(KEPT+24), %r8
        movq    F(KEPT+32), %r9
        movq    F(KEPT+40), %r10
        movq    F(KEPT+48), %r11
        leave
        .cfi_def_cfa %rsp, 8
        ret
        .cfi_endproc
        .size   interpose_hook, . - interpose_hook
        .section .note.GNU-stack, "", @progbits
