# Lines read one after another: upwards, downwards, there and back, over the end of a page, in pages by turns, twice.
        .globl _start
        .text
        .macro up from, to
        .set line, \from
        .rept \to - \from + 1
        add line*64(%rdi), %eax
        .set line, line + 1
        .endr
        .endm
        .macro down from, to
        .set line, \from
        .rept \from - \to + 1
        add %eax, line*64+62(%rdi)     # writes, and lies in two lines
        .set line, line - 1
        .endr
        .endm
_start: lea buf(%rip), %rdi
        up 3, 20
        down 300, 280
        up 500, 503
        down 502, 495
        up 496, 510
        up 60, 80
        .set page, 0
        .irp line, 0, 1, 2, 3, 4, 5, 6, 7, 8
        .irp page, 16, 17, 18, 24, 27
        add (\page*64+\line)*64(%rdi), %eax
        .endr
        .endr
        up 700, 702
        up 701, 704
        up 702, 712
        up 800, 801
        add 1800*64(%rdi), %eax
        up 802, 811
        jmp *end(%rip)             # Valgrind counts a block when the next one begins
1:      mov $60, %eax
        xor %edi, %edi
        syscall
        .data
end:    .quad 1b
        .bss
        .balign 65536
buf:    .skip 1048576
        .section .note.GNU-stack, "", @progbits
