// Blocks without an instruction: the end of a call that a request makes, bytes that are none, code that is not mapped.
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <valgrind.h>

volatile int calls;
static sigjmp_buf back;

static unsigned long called(unsigned long thread) { return ++calls; }
static void handler(int signal) { siglongjmp(back, 1); }

int main(void) {
    int faults = 0;
    for (int i = 0; i < 5; i++) VALGRIND_NON_SIMD_CALL0(called);
    signal(SIGSEGV, handler);
    signal(SIGILL, handler);
    for (int i = 0; i < 3; i++) {
        if (!sigsetjmp(back, 1)) __asm__ volatile(".byte 0x06");
        faults++;
    }
    char *page = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(page + 4096, 4096);
    page[4095] = 0x90;
    for (int i = 0; i < 3; i++) {
        if (!sigsetjmp(back, 1)) ((void (*)(void))(page + 4095))();
        faults++;
    }
    return calls == 5 && faults == 6 ? 0 : 1;
}
