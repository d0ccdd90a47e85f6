/* Indirect functions: docs/spec/redirection.md section 5. */
#include "stubs.h"

#define REQ_ADD_IFUNC_TARGET 0x3104

#define PREAMBLE "rolq $3, %%rdi\n\trolq $13, %%rdi\n\trolq $61, %%rdi\n\trolq $51, %%rdi\n\t"

/* Runs in place of a resolver: calls it, and tells the core what it chose. */
__attribute__((visibility("default"), used, noinline)) void *_vgnU_ifunc_wrapper(void) {
    u64 original, chosen;
    __asm__ volatile(PREAMBLE "xchgq %%rcx, %%rcx" : "=a"(original) : : "cc", "memory");
    __asm__ volatile("movq %%rsp, %%r14\n\tandq $-16, %%rsp\n\t" PREAMBLE "xchgq %%rdx, %%rdx\n\tmovq %%r14, %%rsp"
                     : "=a"(chosen)
                     : "a"(original)
                     : "cc", "memory", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "r14");
    request(REQ_ADD_IFUNC_TARGET, original, chosen, 0, 0, 0);
    return (void *)chosen;
}

/* ---- Unwinding through functions of this image ---------------------------------------------------------------------
 * Exceptions go through hooked functions, and a handler of a signal that came within a replacement (strlen of a bad
 * pointer) asks for a backtrace. No dynamic linker knows this image, so no unwinder finds its call frame information;
 * and to register it would call the program's malloc, which may be what is hooked. */
struct phdr { /* Elf64_Phdr */
    unsigned type, flags;
    u64 offset, vaddr, paddr, filesz, memsz, align;
};
struct eh_bases { /* struct dwarf_eh_bases of GCC's unwinder */
    const void *tbase, *dbase, *func;
};
extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));
#define PT_GNU_EH_FRAME 0x6474e550u

/* The entry of .eh_frame for pc, by the table of .eh_frame_hdr (offsets from its own start, ascending). */
static const void *own_frame_entry(u64 pc, struct eh_bases *bases) {
    const struct phdr *ph = (const struct phdr *)(__ehdr_start + *(const u64 *)(__ehdr_start + 32));
    for (unsigned i = 0; i < *(const u16 *)(__ehdr_start + 56); i++) {
        if (ph[i].type != PT_GNU_EH_FRAME) continue;
        const char *hdr = __ehdr_start + ph[i].vaddr, *found = 0;
        const int *table = (const int *)(hdr + 12);
        for (int n = *(const int *)(hdr + 8); n > 0; n--, table += 2)
            if ((u64)(hdr + table[0]) <= pc) {
                bases->tbase = bases->dbase = 0;
                bases->func = hdr + table[0];
                found = hdr + table[1];
            }
        return found;
    }
    return 0;
}

/* Goes around _Unwind_Find_FDE, where functions are hooked (interpose/hooks) or replaced (heap_stubs.c). */
__attribute__((visibility("default"), used, noinline)) const void *interpose_find_fde(u64 pc, struct eh_bases *bases) {
    u64 original;
    const void *found;
    __asm__ volatile(PREAMBLE "xchgq %%rcx, %%rcx" : "=a"(original) : : "cc", "memory");
    if (pc >= (u64)__ehdr_start && pc < (u64)etext) return own_frame_entry(pc, bases);
    __asm__ volatile("movq %%rsp, %%r14\n\tandq $-16, %%rsp\n\t" PREAMBLE "xchgq %%rdx, %%rdx\n\tmovq %%r14, %%rsp"
                     : "=a"(found), "+D"(pc), "+S"(bases)
                     : "a"(original)
                     : "cc", "memory", "rcx", "rdx", "r8", "r9", "r10", "r11", "r14");
    return found;
}
extern __typeof(interpose_find_fde) interpose_find_fde_here
    __attribute__((alias("interpose_find_fde"), visibility("hidden"), copy(interpose_find_fde)));
