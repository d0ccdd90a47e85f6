/* Branches both ways, calls, the stack, read-modify-write, string instructions, system calls that work and fail. */
    .globl _start
    .text
_start:
    mov $2, %ecx
loop:
    dec %ecx
    jnz loop
    call callee
after_call:
    lea callee(%rip), %rax
    call *%rax
after_indirect:
    lea cell(%rip), %rbx
    addl $1, (%rbx)
    push (%rbx)
    pop 8(%rbx)
    mov $3, %ecx
    mov %rbx, %rsi
    lea there(%rip), %rdi
    rep movsb
    xor %ecx, %ecx
    rep stosq
    std
    mov $2, %ecx
    lea there+8(%rip), %rdi
    rep stosq
    cld
    mov $3, %eax /* close */
    mov $-1, %edi
    syscall
after_close:
    jmp *target(%rip)
    nop
done:
    prefetcht0 (%rbx)
    mov $60, %eax
    xor %edi, %edi
    syscall

callee:
    mov %rsp, %rdx
    ret

    .data
    .balign 64
cell:
    .quad 1, 2, 3, 4
there:
    .quad 0, 0, 0, 0
target:
    .quad done
