# 900 functions, each of which jumps into a part of its own, with jumps forward in it.  No C library; stripped, so that
# only the unwind tables tell the parts.
        .macro  HOT i
        .cfi_startproc
hot\i:  cmp     $\i, %ebx
        je      cold\i
        jmp     cold\i
        .cfi_endproc
        .endm

        .macro  COLD i
        .cfi_startproc
cold\i: test    %edi, %edi
        jz      1f
        nop
1:      cmp     $2, %edi
        jne     2f
        nop
        nop
2:      push    %rdi
        call    leaf
        pop     %rdi
        cmp     $1, %edi
        jne     3f
        nop
        jmp     4f
3:      call    leaf
4:      ret
        .cfi_endproc
        .endm

        .text
        .cfi_startproc
leaf:   nop
        ret
        .cfi_endproc

        .altmacro
        .set    i, 0
        .rept   900
        HOT     %i
        .set    i, i + 1
        .endr
        .set    i, 0
        .rept   900
        COLD    %i
        .set    i, i + 1
        .endr

        .globl  _start
        .cfi_startproc
_start: mov     $40, %r12d
again:  xor     %edx, %edx
        mov     %r12d, %eax
        mov     $3, %ecx
        div     %ecx
        mov     %edx, %edi
        .macro  CALL_HOT i
        call    hot\i
        .endm
        .set    i, 0
        .rept   900
        CALL_HOT %i
        .set    i, i + 1
        .endr
        dec     %r12d
        jnz     again
        mov     $60, %eax
        xor     %edi, %edi
        syscall
        .cfi_endproc
