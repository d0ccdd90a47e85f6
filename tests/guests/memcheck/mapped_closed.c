/* Memory mapped without access is unaddressable until it is given one, and keeps its state when that is taken back. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

#define PAGE ((char *)0x30000000)
static sigjmp_buf back;
static volatile int sink;
static int null;

static void on_segv(int sig) { siglongjmp(back, sig); }

static void look(const char *when, char *at, unsigned long len) {
    fprintf(stderr, "%s: %#lx, %ld bytes written\n", when, (unsigned long)VALGRIND_CHECK_MEM_IS_DEFINED(at, len),
            (long)write(null, at, 8));
}

int main(void) {
    signal(SIGSEGV, on_segv);
    null = open("/dev/null", O_WRONLY);
    mmap(PAGE, 0x4000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    look("closed", PAGE, 0x4000);
    if (sigsetjmp(back, 1) == 0) sink = PAGE[8];
    if (sigsetjmp(back, 1) == 0) PAGE[9] = 1;
    mprotect(PAGE + 0x1000, 0x2000, PROT_READ | PROT_WRITE);
    look("opened", PAGE + 0x1000, 0x2000);
    look("to the end", PAGE + 0x1000, 0x3000);
    VALGRIND_MAKE_MEM_UNDEFINED(PAGE + 0x1008, 8);
    mprotect(PAGE + 0x1000, 0x1000, PROT_NONE);
    look("closed again", PAGE + 0x1000, 0x2000);
    mprotect(PAGE + 0x1000, 0x1000, PROT_READ);
    look("opened again", PAGE + 0x1000, 0x2000);
    VALGRIND_MAKE_MEM_NOACCESS(PAGE + 0x2000, 0x1000); /* as who keeps pages for later does */
    mprotect(PAGE + 0x2000, 0x1000, PROT_NONE);
    look("kept for later", PAGE + 0x2000, 0x1000);
    mprotect(PAGE + 0x2000, 0x1000, PROT_READ | PROT_WRITE);
    look("in use again", PAGE + 0x2000, 0x1000);

    char *moved = mremap(PAGE, 0x1000, 0x2000, MREMAP_MAYMOVE | MREMAP_FIXED, PAGE + 0x8000);
    look("moved", moved, 0x2000);
    mprotect(moved, 0x2000, PROT_READ | PROT_WRITE);
    look("moved and opened", moved, 0x2000);
    mmap(moved, 0x1000, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    look("replaced", moved, 0x2000);
    munmap(moved, 0x1000);
    mmap(moved, 0x1000, PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    look("mapped again", moved, 0x2000);
    return 0;
}
