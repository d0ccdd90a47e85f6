/* Jumps that lead one another 3.5 GiB away, forwards and back: where a fault is found there. */
#include "code.h"
#include <signal.h>
#include <ucontext.h>

#define PLACES 3
#define APART  0x70000000ul

static volatile uint64_t pc;

static void on_fault(int sig, siginfo_t *info, void *context) {
    greg_t *gregs = ((ucontext_t *)context)->uc_mcontext.gregs;
    (void)sig;
    (void)info;
    pc = (uint64_t)gregs[REG_RIP];
    gregs[REG_RIP] += 8; /* the load and what fills up: to the return */
}

/* At from + at: jmp to + at; at the last place: a load from nowhere, and a return. */
static void lead(const uint64_t *places, int n, int at) {
    static const uint8_t load[] = {0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x90, 0xc3}; /* mov eax, [0]; nop; ret */
    for (int i = 0; i + 1 < n; i++) {
        uint8_t code[] = {0xe9, 0, 0, 0, 0};
        int32_t rel = (int32_t)(places[i + 1] - (places[i] + sizeof code));
        memcpy(code + 1, &rel, 4);
        memcpy((void *)(places[i] + (uint64_t)at), code, sizeof code);
    }
    memcpy((void *)(places[n - 1] + (uint64_t)at), load, sizeof load);
}

int main(void) {
    uint64_t there[PLACES], back[PLACES];
    struct sigaction how = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    /* One mapping: a block goes on in executable memory that has no gap. */
    int how_mapped = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    uint8_t *memory = mmap(NULL, (PLACES - 1) * APART + 4096, RWX, how_mapped, -1, 0);
    require(memory != MAP_FAILED, "mmap");
    for (int i = 0; i < PLACES; i++) there[i] = back[PLACES - 1 - i] = (uint64_t)memory + (uint64_t)i * APART;
    require(sigaction(SIGSEGV, &how, NULL) == 0, "sigaction");
    for (int n = 1; n <= PLACES; n++) {
        lead(there, n, 64 * n);
        lead(back, n, 1024 + 64 * n);
        ((fn)(there[0] + 64 * (uint64_t)n))();
        printf("%lx ", pc - there[0]);
        ((fn)(back[0] + 1024 + 64 * (uint64_t)n))();
        printf("%lx\n", pc - there[0]);
    }
    return 0;
}
