# One instruction of each kind that caches, predictors and the bus count in their own way.
        .globl _start
        .text
_start: lea stack+4096(%rip), %rsp
        lea buf(%rip), %rdi
        mov (%rdi), %eax          # r
        mov %eax, 64(%rdi)        # w
        incl 128(%rdi)            # rmw
        mov 188(%rdi), %rax       # straddle read 188..196
        mov %rax, 252(%rdi)       # straddle write 252..260
        push %rax
        pop %rax
        call f
        lea buf(%rip), %rsi
        lea buf+1024(%rip), %rdi
        mov $20, %ecx
        rep movsq
        xchg %eax, buf+2048(%rip)
        lock incl buf+2112(%rip)
        lock xadd %eax, buf+2112(%rip)
        lock cmpxchg %ecx, buf+2112(%rip)
        fnstenv buf+3000(%rip)
        fldenv buf+3000(%rip)
        movdqu buf+3100(%rip), %xmm0
        prefetcht0 buf+3500(%rip)
        movq $5, %rcx
1:      mov buf(,%rcx,8), %rax
        dec %rcx
        jnz 1b
        jmp *tab(%rip)
2:      mov $60, %eax
        xor %edi, %edi
        syscall
f:      call *g2(%rip)
        ret
g:      bt %eax, buf(%rip)
        btsl $5, buf(%rip)
        lea buf+10(%rip), %rsi
        lea buf+20(%rip), %rdi
        lodsb
        leave_test: nop
        ret
        .data
        .balign 4096
buf:    .skip 4096
        .balign 4096
stack:  .skip 4096
tab:    .quad 2b
g2:     .quad g
        .section .note.GNU-stack, "", @progbits
