/* Code in pages that mseal (Linux 6.10) seals: it can be written on, and what is written runs; nothing is unmapped, in part
   neither.  And code that a guard page (MADV_GUARD_INSTALL, 6.13) takes the place of.  Older kernels refuse both. */
#include "code.h"
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>

#define PAGE          4096
#define GUARD_INSTALL 102
#define GUARD_REMOVE  103

static sigjmp_buf back;
static volatile int code_of_fault;
static void *volatile fault_addr;

static void on_fault(int sig, siginfo_t *si, void *uc) {
    (void)uc;
    code_of_fault = sig * 10 + si->si_code;
    fault_addr = si->si_addr;
    siglongjmp(back, 1);
}

static int call(uint8_t *p) {
    if (sigsetjmp(back, 1)) return fault_addr == p ? -code_of_fault : -1;
    return ((fn)p)();
}

static long seal(void *at, size_t n, unsigned long flags) {
    long r = syscall(462, at, n, flags);
    return r < 0 ? -errno : r;
}

static void write_and_run(const char *what, uint8_t *p) {
    int sum = 0;
    for (int i = 0; i < 50; i++) {
        put(p, i);
        sum += call(p);
    }
    printf("%s %d\n", what, sum);
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    sigaction(SIGBUS, &sa, NULL);

    uint8_t *p = map(4 * PAGE, RWX);
    put(p, 1), put(p + PAGE, 2), put(p + 3 * PAGE, 4);
    printf("before %d %d\n", call(p), call(p + PAGE));
    printf("seal %ld, flags %ld, unaligned %ld, nothing %ld\n", seal(p + PAGE, 2 * PAGE, 0), seal(p, PAGE, 1),
           seal(p + 1, PAGE, 0), seal(p, 0, 0));
    printf("still %d %d\n", call(p), call(p + PAGE));
    write_and_run("run before the seal", p + PAGE);
    write_and_run("new", p + 2 * PAGE);
    write_and_run("not sealed", p);
    printf("unmap %d", munmap(p, 4 * PAGE));
    printf(" %d %d\n", call(p), call(p + 3 * PAGE));
    uint8_t *at = mmap(p, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    printf("map over %d", at == MAP_FAILED);
    put(p, 7);
    printf(" %d\n", call(p));
    printf("move %d\n", mremap(p + PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED);
    printf("protect %d", mprotect(p, 2 * PAGE, RW));
    put(p + PAGE, 9);
    printf(" %d\n", call(p + PAGE));
    printf("ours %ld\n", seal((void *)0x5d000000, PAGE, 0) < 0 ? 0l : 1l);

    uint8_t *g = map(2 * PAGE, RWX);
    put(g, 3), put(g + PAGE, 5);
    printf("unguarded %d %d\n", call(g), call(g + PAGE));
    int guarded = madvise(g + PAGE, PAGE, GUARD_INSTALL);
    printf("guarded %d %d %d\n", guarded, call(g), call(g + PAGE));
    if (sigsetjmp(back, 1) == 0) put(g + PAGE, 6);
    madvise(g + PAGE, PAGE, GUARD_REMOVE);
    put(g + PAGE, 8);
    printf("removed %d\n", call(g + PAGE));
    return 0;
}
