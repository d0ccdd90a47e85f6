/* Null selectors loaded into FS and GS; far returns and iret to the same code segment; reading selectors. */
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <unistd.h>
int main(void) {
    uint64_t data[4] = {1, 2, 3, 4}, base = 1;
    unsigned sel;
    syscall(SYS_arch_prctl, ARCH_SET_GS, data);
    __asm__ volatile("mov %0, %%gs" ::"r"(0));
    __asm__ volatile("mov %%gs, %0" : "=r"(sel));
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    printf("gs selector %u base %lx\n", sel, (unsigned long)base);
    __asm__ volatile("mov %%cs, %0" : "=r"(sel));
    printf("cs %x", sel);
    __asm__ volatile("mov %%ss, %0" : "=r"(sel));
    printf(" ss %x\n", sel);
    long r = 0;
    __asm__ volatile("mov %%cs, %%ecx\n\tpush %%rcx\n\tlea 1f(%%rip), %%rcx\n\tpush %%rcx\n\tlretq\n\tud2\n1:\tmov $7, %0"
                     : "=r"(r)::"rcx", "memory");
    printf("far return %ld\n", r);
    __asm__ volatile("mov %%rsp, %%rdx\n\tmov %%ss, %%ecx\n\tpush %%rcx\n\tpush %%rdx\n\tpushfq\n\tmov %%cs, %%ecx\n\tpush %%rcx\n\t"
                     "lea 1f(%%rip), %%rcx\n\tpush %%rcx\n\tiretq\n\tud2\n1:\tmov $8, %0"
                     : "=r"(r)::"rcx", "rdx", "memory");
    printf("iret %ld\n", r);
    return 0;
}
