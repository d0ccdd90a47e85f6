/* Memory taken away by munmap and mprotect: only the first is an error of memcheck's. */
#include <signal.h>
#include <setjmp.h>
#include <sys/mman.h>

static sigjmp_buf back;
static volatile int sink;

static void on_segv(int sig) {
    (void)sig;
    siglongjmp(back, 1);
}

int main(void) {
    signal(SIGSEGV, on_segv);
    char *p = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    p[0] = p[4096] = 1;
    munmap(p + 4096, 4096);
    if (sigsetjmp(back, 1) == 0)
        sink = p[4096];
    mprotect(p, 4096, PROT_NONE);
    if (sigsetjmp(back, 1) == 0)
        sink = p[0];
    return 0;
}
