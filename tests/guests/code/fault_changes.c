/* One place faults again and again, and what stands there changes in between: by stores, by another view of a file, by
 * a new mapping; then it faults no more. */
#include "code.h"
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static long sum;
static char place[64];

static void on_fault(int sig, siginfo_t *info, void *context) {
    (void)context;
    sum = sum * 3 + ((long)info->si_addr & 4095) + sig;
    siglongjmp(back, 1);
}

/* mov [rdi + at], al; ret */
static void store(uint8_t *to, uint8_t at) {
    const uint8_t code[] = {0x88, 0x47, at, 0xc3};
    memcpy(to, code, sizeof code);
}

static void call(uint8_t *code, const void *where) {
    if (!sigsetjmp(back, 1)) ((void (*)(const void *))(void *)code)(where);
}

int main(void) {
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    require(!sigaction(SIGSEGV, &action, NULL), "sigaction");
    uint8_t *code = map(4096, RWX);
    for (int i = 0; i < 20; i++) { /* by stores */
        store(code, (uint8_t)(i % 7));
        for (int k = 0; k < 3; k++) call(code, (void *)16);
    }
    printf("%ld\n", sum);

    int fd = memfd_create("code", 0);
    require(fd >= 0 && !ftruncate(fd, 4096), "memfd_create");
    uint8_t *write = map_file(fd, 4096, RW, MAP_SHARED), *run = map_file(fd, 4096, RX, MAP_SHARED);
    for (int i = 0; i < 20; i++) { /* by the other view */
        store(write, (uint8_t)(i % 7));
        for (int k = 0; k < 3; k++) call(run, (void *)16);
    }
    printf("%ld\n", sum);

    for (int i = 0; i < 20; i++) { /* by a new mapping */
        require(mmap(code, 4096, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == code, "mmap");
        store(code, (uint8_t)(i % 7));
        require(!mprotect(code, 4096, RX), "mprotect");
        for (int k = 0; k < 3; k++) call(code, (void *)16);
    }
    require(!munmap(code, 4096), "munmap"); /* now it is the fetch that faults */
    call(code, (void *)16);
    printf("%ld\n", sum);

    call(run, place);
    call(run, (void *)24);
    printf("%ld %d\n", sum, place[5]);
    return 0;
}
