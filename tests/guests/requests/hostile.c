/* Requests of every number with bad arguments: hostile SEED COUNT.
 *
 * Whatever a request is given, the program goes on: it gets an answer, or, where the request calls a function of its
 * choice, the signal that the call earns.  What it owns besides the area that is passed stays as it was.
 */
#define _GNU_SOURCE
#include <interpose/callgrind.h>
#include <interpose/datagrind.h>
#include <interpose/memcheck.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define AREA_BYTES 65536
static char *area, *closed, *read_only;
static char canary[4096];
static sigjmp_buf back;
static unsigned long state;

static unsigned long any(unsigned long below) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state % below;
}

static void on_fault(int sig) { siglongjmp(back, sig); }
static long function(long tid, long a, long b, long c) { return a + b + c; }

static unsigned long address(void) {
    static const unsigned long bad[] = {0, 1, 8, 4096, 1ul << 31, 1ul << 40, (1ul << 45) - 8, 1ul << 45, 0x7ffffffff000,
                                        (1ul << 47) - 1, 1ul << 47, 1ul << 63, -4096ul, -8ul, -1ul, 0xffffffffff600000};
    switch (any(8)) {
    case 0: return (unsigned long)closed + any(8192);
    case 1: return (unsigned long)read_only + any(8192);
    case 2: return (unsigned long)area + AREA_BYTES - any(64);
    case 3:
    case 4: return bad[any(sizeof bad / sizeof *bad)];
    case 5: return any(2) ? state : state >> any(64);
    default: return (unsigned long)area + any(AREA_BYTES) / 16 * 16;
    }
}

static unsigned long number(unsigned long at) {
    static const unsigned long odd[] = {0, 1, 2, 7, 64, 4095, 1ul << 20, 1ul << 31, (1ul << 32) - 1, 1ul << 40,
                                        1ul << 47, 1ul << 63, -1ul, -8ul, -4096ul};
    switch (any(4)) {
    case 0: return odd[any(sizeof odd / sizeof *odd)];
    case 1: return -at + any(16) - 8; /* to the end of addresses */
    case 2: return address();
    default: return any(300);
    }
}

static const unsigned codes[] = {
    0x1001, 0x1002, 0x1003, 0x1004, 0x1101, 0x1102, 0x1103, 0x1104, 0x1201, 0x1202, 0x1203, 0x1301, 0x1302, 0x1303,
    0x1304, 0x1305, 0x1306, 0x1307, 0x1308, 0x1309, 0x130a, 0x130b, 0x1403, 0x1404, 0x1501, 0x1502, 0x1503, 0x1601,
    0x1701, 0x1801, 0x1901, 0x1902, 0x3029, 0x3103, 0x4d430000, 0x4d430001, 0x4d430002, 0x4d430003, 0x4d430004,
    0x4d430005, 0x4d430006, 0x4d430007, 0x4d430008, 0x4d430009, 0x4d43000a, 0x4d43000b, 0x4d43000c, 0x4d43000d,
    0x4d43000e, 0x4d43000f, 0x4d430100, 0x4d430101, 0x43540000, 0x43540001, 0x43540002, 0x43540003, 0x43540004,
    0x43540005, 0x43540006, 0x44470000, 0x44470001, 0x44470002, 0x44470003, 0x44470100, 0x1999, 0x51570001, 0};

static void one(void) {
    unsigned code = any(64) ? codes[any(sizeof codes / sizeof *codes)] : (unsigned)state;
    unsigned long a[5];
    volatile unsigned long answer;
    if (code >> 16 == 0x4950) return; /* the engine's own library uses these */
    for (int i = 0; i < 5; i++) a[i] = any(2) ? address() : number(a[0]);
    if (code >= 0x1101 && code <= 0x1104 && any(2)) a[0] = (unsigned long)function;
    if (code == 0x1002 && any(4)) a[0] = (unsigned long)one;
    if (code >> 4 == 0x4d43000 && (code & 15) <= 2) { /* nothing but the area changes its state */
        a[0] = (unsigned long)(any(2) ? area : closed) + any(4096);
        a[1] %= AREA_BYTES / 2;
    }
    if (code == 0x1303) { /* twice, and AUTO_FREE without METAPOOL, end the run by contract */
        if (VALGRIND_MEMPOOL_EXISTS(a[0])) VALGRIND_DESTROY_MEMPOOL(a[0]);
        a[3] = any(2) * (2 + any(2));
    }
    if (code == 0x1801) a[0] = any(3) - 1;
    if (code == 0x4d430006 && any(8)) return; /* takes its time */
    if (getenv("HOSTILE_TRACE")) fprintf(stderr, "%#x(%#lx, %#lx, %#lx, %#lx)\n", code, a[0], a[1], a[2], a[3]);
    if (sigsetjmp(back, 1) == 0) answer = INTERPOSE_REQUEST(0x5eed, code, a[0], a[1], a[2], a[3], a[4]);
    /* Strings to print and names begin in the area, too. */
    area[any(AREA_BYTES)] = "%sdn*9.l"[any(8)];
}

int main(int argc, char **argv) {
    static char stack[65536];
    stack_t alternate = {.ss_sp = stack, .ss_size = sizeof stack};
    struct sigaction fault = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK | SA_NODEFER};
    state = strtoul(argv[1], NULL, 0) * 2654435761u + 1;
    area = mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    closed = mmap(NULL, 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    read_only = mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(canary, 'c', sizeof canary);
    sigaltstack(&alternate, NULL);
    sigaction(SIGSEGV, &fault, NULL);
    sigaction(SIGBUS, &fault, NULL);
    sigaction(SIGILL, &fault, NULL);
    for (unsigned long n = strtoul(argv[2], NULL, 0); n; n--) one();
    for (unsigned i = 0; i < sizeof canary; i++)
        if (canary[i] != 'c') return 2;
    VALGRIND_DO_LEAK_CHECK;
    puts("done");
    return 0;
}
