/* What a handler leaves on a coroutine's stack, in a mapping: undefined for the frames that come after it.
 * @options: --num-callers=3 */
#define _GNU_SOURCE
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE 131072
static volatile int seen;

static void call_on(char *top, void (*f)(void)) {
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %0, %%rsp\n\t"
                     "call *%1\n\t"
                     "mov %%rbx, %%rsp"
                     :
                     : "r"(top), "r"(f)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}

static void handler(int s) {
    volatile char x[100];
    memset((char *)x, s, sizeof x);
}

static void interrupted(void) { raise(SIGUSR1); }

static void first(void) {
    interrupted();
    volatile char x[2000];
    memset((char *)x, 1, sizeof x);
}

static void frames(void) {
    volatile char x[3000];
    for (int i = 0; i < 3000; i++)
        if (x[i])
            seen++;
}

static void second(void) { frames(); }

int main(void) {
    char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    signal(SIGUSR1, handler);
    memset(p, 0xa5, SIZE);
    for (int i = 0; i < 2; i++) {
        call_on(p + SIZE, first);
        call_on(p + SIZE, second);
    }
    return 0;
}
