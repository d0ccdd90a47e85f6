/* Accesses that nobody can predict, then a line. */
    .globl _start
    .text
_start:
    mov $88172645463325252, %rax
    mov $300000, %ecx
    lea table(%rip), %rbx
loop:
    mov %rax, %rdx
    shl $13, %rdx
    xor %rdx, %rax
    mov %rax, %rdx
    shr $7, %rdx
    xor %rdx, %rax
    mov %rax, %rdx
    shl $17, %rdx
    xor %rdx, %rax
    mov %eax, %edx
    and $4095, %edx
    incl (%rbx, %rdx, 4)
    dec %ecx
    jnz loop
    mov $1, %eax
    mov $1, %edi
    lea text(%rip), %rsi
    mov $5, %edx
    syscall
    mov $60, %eax
    xor %edi, %edi
    syscall

    .data
text:
    .ascii "done\n"
    .bss
    .balign 64
table:
    .skip 16384
