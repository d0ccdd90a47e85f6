/* Mapping of ELF images and the initial stack: what loader.c and stack.c share. */
#ifndef INTERPOSE_IMAGE_H
#define INTERPOSE_IMAGE_H

#include "runtime/base/rt.h"

struct rt_image {
    u64 bias;          /* added to the file's addresses */
    u64 lo, hi;        /* first and past-the-last mapped page */
    u64 entry;         /* run-time address */
    bool exec_stack;   /* PT_GNU_STACK asks for it */
    bool fixed;        /* ET_EXEC */
    u64 phdr, phnum;   /* run-time address of the program headers (0: unmapped) */
    char path[4096];   /* absolute */
    char interp[4096]; /* PT_INTERP, "" if none */
};

/* Build the guest's main stack from the kernel's: strings, auxv, envp, argv;
 * sets ts->gpr[IP_RSP], the stack bounds and rt.stack_top. */
void rt_build_stack(struct tstate *ts, const u64 *kernel_sp, const struct rt_image *program, u64 interp_bias);

/* vdso.c: the vDSO at its new place, given the kernel's; 0: none for the program. */
u64 rt_move_vdso(struct tstate *ts, u64 at);

/* identity.c: have the kernel show the program, not us, after the stack is built. */
void rt_tell_kernel(const struct rt_image *program);
/* The kernel took our word; without, /proc/self/{cmdline,environ,auxv} need our help. */
extern bool rt_told_kernel;

/* The guest's auxiliary vector as it was built (the program may overwrite its own). */
#define RT_AUXV_MAX 96
extern u64 rt_auxv[RT_AUXV_MAX], rt_auxv_words;

#endif
