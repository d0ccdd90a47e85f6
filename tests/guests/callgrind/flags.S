/* Functions that get a flag and give one back.  Ends with 0 if each came through. */
        .text
        .globl  _start
        .type   _start, @function
_start:
        mov     $100, %ebx
        xor     %r12d, %r12d
1:      stc
        call    takes
        jnc     bad
        clc
        call    takes
        jc      bad
        call    gives
        jno     bad
        test    $1, %bl
        call    leads
        jz      2f
        inc     %r12d
2:      dec     %ebx
        jne     1b
        cmp     $50, %r12d
        jne     bad
        xor     %edi, %edi
        jmp     3f
bad:    mov     $1, %edi
3:      mov     $231, %eax
        syscall
        .size   _start, . - _start

        .type   takes, @function
takes:  setc    %al
        movzbl  %al, %eax
        lea     -1(%rax), %rcx
        jrcxz   1f
        clc
        ret
1:      stc
        ret
        .size   takes, . - takes

        .type   gives, @function
gives:  mov     $0x7f, %al
        inc     %al
        ret
        .size   gives, . - gives

/* Touches no flag, and is left by a jump. */
        .type   leads, @function
leads:  lea     1(%rax), %rax
        jmp     keeps
        .size   leads, . - leads

        .type   keeps, @function
keeps:  lea     1(%rax), %rax
        ret
        .size   keeps, . - keeps
