# Calls of every kind, with costs that can be counted by reading.  No C library; built with -nostdlib -static.
        .macro  FUNCTION name
        .globl  \name
        .type   \name, @function
\name:
        .endm
        .macro  END name
        .size   \name, . - \name
        .endm

        .text
FUNCTION leaf                           # 3
        nop
        nop
        ret
END leaf

FUNCTION tail                           # 2, then leaf
        nop
        jmp     leaf
END tail

FUNCTION recursive                      # 3 at depth 0, else 5; %edi is the depth
        test    %edi, %edi
        jz      1f
        dec     %edi
        call    recursive
1:      ret
END recursive

FUNCTION even                           # mutual recursion: 5, the last one 3
        test    %edi, %edi
        jz      1f
        dec     %edi
        call    odd
1:      ret
END even

FUNCTION odd
        test    %edi, %edi
        jz      1f
        dec     %edi
        call    even
1:      ret
END odd

FUNCTION deep                           # 4 each; the last one leaves all of them by a jump
        test    %edi, %edi
        jz      leap
        dec     %edi
        call    deep
        hlt
END deep

FUNCTION leap                           # longjmp: 2
        mov     saved_sp(%rip), %rsp
        jmp     *saved_pc(%rip)
END leap

FUNCTION catcher                        # 4 + 2 + 1
        lea     1f(%rip), %rax
        mov     %rax, saved_pc(%rip)
        mov     %rsp, saved_sp(%rip)
        mov     $3, %edi
        call    deep
        hlt
1:      nop
        ret
END catcher

FUNCTION hot                            # 5, one of them in hot.cold
        cmp     $1, %edi
        jg      hot.cold
back:   nop
        ret
END hot

FUNCTION hot.cold                       # 1 and a leaf, and back
        call    leaf
        jmp     back
END hot.cold

FUNCTION strings                        # 4 + (1 + 10) + 1 + 1 + 1
        lea     from(%rip), %rsi
        lea     to(%rip), %rdi
        mov     $10, %ecx
        cld
        rep movsb
        xor     %ecx, %ecx
        rep stosb
        ret
END strings

FUNCTION selects                        # an indirect jump within
        lea     1f(%rip), %rax
        jmp     *%rax
        hlt
1:      ret
END selects

FUNCTION indirect                       # 2, then 3, through a register
        lea     leaf(%rip), %rax
        call    *%rax
        ret
END indirect

        nop
nameless:                               # no symbol with a size: named by its address
        nop
        ret

FUNCTION _start
        call    leaf
        call    leaf
        call    tail
        mov     $4, %edi
        call    recursive
        mov     $3, %edi
        call    even
        call    catcher
        mov     $1, %edi
        call    hot
        mov     $2, %edi
        call    hot
        call    strings
        call    selects
        call    indirect
        call    nameless
        call    finish
END _start

FUNCTION finish
        mov     $60, %eax
        xor     %edi, %edi
        syscall
END finish

        .data
        .balign 64
from:   .skip   64
to:     .skip   64
saved_sp: .quad 0
saved_pc: .quad 0
        .section .note.GNU-stack, "", @progbits
