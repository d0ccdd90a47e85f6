// flags: -nostdlib -static
// exit: 42
        .globl _start
        .text
_start: mov     $1, %eax
        mov     $1, %edi
        lea     text(%rip), %rsi
        mov     $6, %edx
        syscall
        mov     (%rsp), %rdi
        add     $41, %rdi
        mov     $231, %eax
        syscall
        .section .rodata
text:   .ascii  "plain\n"
        .section .note.GNU-stack,"",@progbits
