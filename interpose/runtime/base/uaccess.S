/* Access to guest memory that survives a fault.
 *
 * Contract with the SIGSEGV/SIGBUS handler: while rip is in
 * [rt_copy_begin, rt_copy_end) no register but rsp matters to the caller and
 * rsp points at the return address, so the handler only stores rt_copy_fault
 * into rip and returns.  Hence: no push, no callee-saved register in here.
 */
        .text
        .globl  rt_copy_begin, rt_copy_end, rt_copy_fault
        .globl  rt_copy_from, rt_copy_to, rt_fill_to, rt_strncpy_from, rt_zeros, rt_run_without

        .type   rt_copy_from, @function
        .type   rt_copy_to, @function
        .type   rt_fill_to, @function
        .type   rt_strncpy_from, @function
        .type   rt_zeros, @function
        .type   rt_run_without, @function
        .globl  rt_load_gs, rt_load_ss, rt_int1, rt_int1_after
        .type   rt_load_gs, @function
        .type   rt_load_ss, @function
        .globl  rt_int80
        .type   rt_int80, @function
        .type   rt_int1, @function

        .p2align 4
rt_copy_begin:
/* long rt_copy_from(void *dst, u64 guest_src, u64 n)
 * long rt_copy_to(u64 guest_dst, const void *src, u64 n) */
rt_copy_from:
rt_copy_to:
        cmp     $8, %rdx                /* by far the most frequent size */
        jne     1f
        mov     (%rsi), %rax
        mov     %rax, (%rdi)
        xor     %eax, %eax
        ret
1:      ja      9f
        cmp     $2, %rdx                /* at once, so that a page's end leaves nothing half done */
        je      2f
        cmp     $4, %rdx
        je      4f
        cmp     $1, %rdx
        je      5f
        jmp     8f
9:      cmp     $32, %rdx               /* a repeated instruction takes longer to begin than this */
        ja      8f
        cmp     $16, %rdx
        jbe     6f
        mov     8(%rsi), %r8
        mov     -16(%rsi,%rdx), %r9
        mov     (%rsi), %rax
        mov     -8(%rsi,%rdx), %rcx
        mov     %rax, (%rdi)
        mov     %r8, 8(%rdi)
        mov     %r9, -16(%rdi,%rdx)
        mov     %rcx, -8(%rdi,%rdx)
        xor     %eax, %eax
        ret
6:      mov     (%rsi), %rax
        mov     -8(%rsi,%rdx), %rcx
        mov     %rax, (%rdi)
        mov     %rcx, -8(%rdi,%rdx)
        xor     %eax, %eax
        ret
8:      mov     %rdx, %rcx
        rep movsb
        xor     %eax, %eax
        ret
2:      movzwl  (%rsi), %eax
        mov     %ax, (%rdi)
        xor     %eax, %eax
        ret
4:      mov     (%rsi), %eax
        mov     %eax, (%rdi)
        xor     %eax, %eax
        ret
5:      movzbl  (%rsi), %eax
        mov     %al, (%rdi)
        xor     %eax, %eax
        ret
        .size   rt_copy_from, . - rt_copy_from

/* long rt_fill_to(u64 guest_dst, u8 byte, u64 n) */
rt_fill_to:
        mov     %esi, %eax
        mov     %rdx, %rcx
        rep stosb
        xor     %eax, %eax
        ret
        .size   rt_fill_to, . - rt_fill_to

/* long rt_strncpy_from(char *dst, u64 guest_src, u64 n)
 * Length without the NUL; -ENAMETOOLONG if there is none in n bytes. */
rt_strncpy_from:
        xor     %eax, %eax
2:      cmp     %rdx, %rax
        jae     3f
        movzbl  (%rsi,%rax), %ecx
        mov     %cl, (%rdi,%rax)
        test    %ecx, %ecx
        jz      4f
        inc     %rax
        jmp     2b
3:      mov     $-36, %rax              /* -ENAMETOOLONG */
4:      ret
        .size   rt_strncpy_from, . - rt_strncpy_from

/* long rt_zeros(u64 from, u64 n) */
        .p2align 4
rt_zeros:
        lea     (%rdi,%rsi), %rdx
        mov     %rdi, %rsi
        jmp     2f
        .p2align 4
1:      mov     -64(%rdi), %rax
        mov     -56(%rdi), %rcx
        or      -48(%rdi), %rax
        or      -40(%rdi), %rcx
        or      -32(%rdi), %rax
        or      -24(%rdi), %rcx
        or      -16(%rdi), %rax
        or      -8(%rdi), %rcx
        or      %rcx, %rax
        jnz     3f
2:      add     $64, %rdi
        cmp     %rdx, %rdi
        jbe     1b
3:      sub     $64, %rdi               /* less than 64 bytes, or some that are not all zero */
4:      lea     8(%rdi), %rax
        cmp     %rdx, %rax
        ja      5f
        cmpq    $0, (%rdi)
        jne     5f
        mov     %rax, %rdi
        jmp     4b
5:      cmp     %rdx, %rdi
        jae     6f
        cmpb    $0, (%rdi)
        jne     6f
        inc     %rdi
        jmp     5b
6:      mov     %rdi, %rax
        sub     %rsi, %rax
        ret
        .size   rt_zeros, . - rt_zeros

/* long rt_run_without(u64 from, u64 n, u64 bytes)
 * Eight bytes at once: x - 0x0101.. borrows into the high bit of a byte of x that is zero, and below the first of them
 * into no other one. */
        .p2align 4
rt_run_without:
        mov     %rdi, %r10
        lea     (%rdi,%rsi), %r11
        movabs  $0x0101010101010101, %r8
        jmp     2f
        .p2align 4
1:      mov     (%rdi), %rax
        xor     %rdx, %rax
        mov     %rax, %r9
        sub     %r8, %rax
        not     %r9
        and     %r9, %rax
        test    %rax, high_bits(%rip)
        jnz     3f
        add     $8, %rdi
2:      lea     8(%rdi), %rax
        cmp     %r11, %rax
        jbe     1b
3:      cmp     %r11, %rdi
        jae     4f
        movzbl  (%rdi), %eax
        cmp     %al, %dl
        je      4f
        inc     %rdi
        jmp     3b
4:      mov     %rdi, %rax
        sub     %r10, %rax
        ret
        .size   rt_run_without, . - rt_run_without

/* long rt_load_gs(u32 selector), long rt_load_ss(u32 selector): not 0 if the CPU refuses it. */
rt_load_gs:
        mov     %edi, %gs
        xor     %eax, %eax
        ret
        .size   rt_load_gs, . - rt_load_gs
rt_load_ss:
        mov     %edi, %ss
        xor     %eax, %eax
        ret
        .size   rt_load_ss, . - rt_load_ss

/* long rt_int80(long nr): 0 if there is such a thing. */
rt_int80:
        mov     %rdi, %rax
        int     $0x80
        xor     %eax, %eax
        ret
        .size   rt_int80, . - rt_int80
rt_copy_end:

        .type   rt_copy_fault, @function
rt_copy_fault:
        mov     $-14, %rax              /* -EFAULT */
        cld
        ret
        .size   rt_copy_fault, . - rt_copy_fault

/* void rt_int1(void): where the CPU, or what it runs on, says that int1 was (signal.c). */
rt_int1:
        .byte   0xf1
rt_int1_after:
        ret
        .size   rt_int1, . - rt_int1

        .section .rodata, "a", @progbits
        .p2align 3
high_bits:
        .quad   0x8080808080808080

        /* The table of instructions that may fault exists in every runtime, and an empty one would have no bounds. */
        .section rt_fixups, "a", @progbits
        .quad   0, 0

        .section .note.GNU-stack, "", @progbits
