# Code that leaves a line of the instruction cache by a jump and comes back to it.  The caches of the test are so small
# that lines are lost again and again.
        .globl _start
        .text
        .balign 4096
_start: lea stack+64(%rip), %rsp
        mov $1000, %ecx
        jmp a
        .balign 64
a:      inc %eax
        jmp b                     # to the next line ...
back:   inc %eax                  # ... and back: where this begins, and where it ends, is one line
        test $3, %ecx
        jz far
next:   dec %ecx
        jnz a
        mov $60, %eax
        xor %edi, %edi
        syscall
        .balign 64
b:      inc %eax
        jmp back
        .balign 64
        .skip 62, 0x90
c:      lea 1(%rax,%rdx), %rax    # lies in two lines
        ret
        .balign 4096
far:    call c                    # shares its set with a
        lock incl place(%rip)
        xchg %eax, place(%rip)
        jmp next
        .data
        .balign 64
place:  .quad 0
        .balign 64
stack:  .skip 64
        .section .note.GNU-stack, "", @progbits
