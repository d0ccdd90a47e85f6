/* x87 and gather instructions whose operand lies in the program's GS segment, where nothing is mapped: GS belongs to the
 * engine again when the handler runs, and afterwards. */
// modes: default single-step memcheck tracking
#define _GNU_SOURCE
#include <asm/prctl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static sigjmp_buf back;
static volatile uintptr_t at;
static volatile int work;

static void on_fault(int sig, siginfo_t *si, void *context) {
    char text[64];
    (void)context;
    at = (uintptr_t)si->si_addr;
    snprintf(text, sizeof text, "signal %d", sig); /* loads and stores of all kinds */
    work += (int)strlen(text);
    siglongjmp(back, 1);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    char *area = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(area + 4096, 4096);
    *(double *)area = 2.5;
    syscall(SYS_arch_prctl, ARCH_SET_GS, area);
    for (int i = 0; i < 3; i++) {
        double value = 0;
        if (sigsetjmp(back, 1) == 0) {
            __asm__ volatile("fldl %%gs:0\n fstpl %0" : "=m"(value));
            printf("%g", value);
            __asm__ volatile("fldl %%gs:4096+24\n fstpl %0" : "=m"(value));
            puts(" not here");
        }
        printf(" at +%lx, work %d\n", (long)(at - (uintptr_t)area), work);
        if (sigsetjmp(back, 1) == 0) {
            __asm__ volatile("fld1\n fstpl %gs:4096+40");
            puts("not here");
        }
        printf("stored at +%lx\n", (long)(at - (uintptr_t)area));
        int *block = malloc(400), sum = 0;
        for (int k = 0; k < 100; k++) block[k] = k * i;
        for (int k = 0; k < 100; k++) sum += block[k];
        printf("sum %d\n", sum);
        free(block);
    }
    unsigned long base = 0;
    syscall(SYS_arch_prctl, ARCH_GET_GS, &base);
    printf("base %d\n", base == (uintptr_t)area);
    return 0;
}
