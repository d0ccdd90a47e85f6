/* Code on the heap, on the stack, in pages that move, shrink, vanish and come back. */
// flags: -z execstack
#include "code.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static void *volatile fault_addr;

static void on_fault(int sig, siginfo_t *si, void *uc) {
    (void)sig;
    (void)uc;
    fault_addr = si->si_addr;
    siglongjmp(back, 1);
}

static int call(uint8_t *p) {
    if (sigsetjmp(back, 1)) return fault_addr == p ? -1 : -2;
    return ((fn)p)();
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);
    long sum = 0;
    uint8_t *h = aligned_alloc(4096, 8192);
    require(mprotect(h, 8192, RWX) == 0, "mprotect of the heap");
    for (int i = 0; i < 2000; i++) {
        put(h + 100, i);
        sum += call(h + 100);
    }
    require(mprotect(h, 8192, RW) == 0, "mprotect of the heap");
    printf("heap %ld\n", sum);
    sum = 0;
    for (int i = 0; i < 2000; i++) {
        uint8_t code[16];
        put(code, i);
        __asm__ volatile("" : : "r"(code) : "memory");
        sum += call(code);
    }
    printf("stack %ld\n", sum);
    uint8_t *p = map(16384, RWX);
    for (int i = 0; i < 20; i++) {
        put(p, i);
        put(p + 4096, 100 + i);
        uint8_t *q = map(8192, RWX);
        put(q, 7);
        if (call(q) != 7) return 1;
        uint8_t *r = mremap(p, 8192, 8192, MREMAP_MAYMOVE | MREMAP_FIXED, q);
        require(r == q, "mremap");
        int a = call(q), b = call(q + 4096), gone = call(p);
        if (i % 5 == 0) printf("moved %d %d, old %d\n", a, b, gone);
        r = mremap(q, 8192, 4096, 0);
        require(r == q, "mremap");
        if (i % 5 == 0) printf("shrunk %d %d\n", call(q), call(q + 4096));
        r = mremap(q, 4096, 16384, MREMAP_MAYMOVE);
        require(r != MAP_FAILED, "mremap");
        p = r;
    }
    for (int i = 0; i < 20; i++) {
        put(p, i);
        sum += call(p);
        require(madvise(p, 4096, MADV_DONTNEED) == 0, "madvise");
        /* zeroes: add [rax], al, twice, and so on; rax is a bad address */
        if (i == 0) {
            int got;
            if (sigsetjmp(back, 1) == 0) {
                __asm__ volatile("xor %%eax, %%eax\n\tcall *%1" : "=a"(got) : "r"(p) : "memory", "rcx", "rdx");
                printf("ran zeroes\n");
            } else {
                printf("zeroes %d\n", fault_addr == NULL);
            }
        }
    }
    for (int i = 0; i < 50; i++) {
        put(p, i);
        sum += call(p);
        require(mprotect(p, 4096, PROT_NONE) == 0, "mprotect");
        sum += 1000 * call(p);
        require(mprotect(p, 4096, PROT_READ) == 0, "mprotect");
        sum += 1000 * call(p);
        require(mprotect(p, 4096, RWX) == 0, "mprotect");
        sum += call(p);
    }
    munmap(p, 4096);
    printf("then %ld, unmapped %d\n", sum, call(p));
    return 0;
}
