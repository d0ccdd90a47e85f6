/* State in, case, state out.  Absolute addresses only: no register is free. */
        .text
        .globl  _start, run_case, common_save, restore_rt
_start:
        xor     %ebp, %ebp
        mov     %rsp, %rdi
        and     $-16, %rsp
        call    guest_main
        ud2

restore_rt:
        mov     $15, %eax
        syscall

run_case:
        push    %rbx
        push    %rbp
        push    %r12
        push    %r13
        push    %r14
        push    %r15
        mov     %rsp, host_sp
        mov     in_image, %rsi
        mov     x_mask, %eax
        mov     x_mask+4, %edx
        xrstor64 (%rsi)
        pushq   in_flags
        popfq
        mov     in_gpr+0, %rax
        mov     in_gpr+8, %rcx
        mov     in_gpr+16, %rdx
        mov     in_gpr+24, %rbx
        mov     in_gpr+40, %rbp
        mov     in_gpr+48, %rsi
        mov     in_gpr+56, %rdi
        mov     in_gpr+64, %r8
        mov     in_gpr+72, %r9
        mov     in_gpr+80, %r10
        mov     in_gpr+88, %r11
        mov     in_gpr+96, %r12
        mov     in_gpr+104, %r13
        mov     in_gpr+112, %r14
        mov     in_gpr+120, %r15
        mov     in_gpr+32, %rsp
        jmp     *in_entry

common_save:
        mov     %rax, out_gpr+0
        mov     %rcx, out_gpr+8
        mov     %rdx, out_gpr+16
        mov     %rbx, out_gpr+24
        mov     %rsp, out_gpr+32
        mov     %rbp, out_gpr+40
        mov     %rsi, out_gpr+48
        mov     %rdi, out_gpr+56
        mov     %r8, out_gpr+64
        mov     %r9, out_gpr+72
        mov     %r10, out_gpr+80
        mov     %r11, out_gpr+88
        mov     %r12, out_gpr+96
        mov     %r13, out_gpr+104
        mov     %r14, out_gpr+112
        mov     %r15, out_gpr+120
        mov     host_sp, %rsp
        pushfq
        popq    out_flags
        pushq   $0x202
        popfq
        mov     x_mask, %eax
        mov     x_mask+4, %edx
        xsave64 x_area
        pop     %r15
        pop     %r14
        pop     %r13
        pop     %r12
        pop     %rbp
        pop     %rbx
        ret

        .bss
        .balign 8
host_sp:
        .skip   8
        .section .note.GNU-stack,"",@progbits
