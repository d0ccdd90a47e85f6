/* A private executable mapping of a file that this process writes to: opened before, opened after, truncated. */
#include "code.h"
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>

static sigjmp_buf back;
static void *volatile fault_addr;
static volatile int fault_sig;

static void on_fault(int sig, siginfo_t *si, void *uc) {
    (void)uc;
    fault_sig = sig;
    fault_addr = si->si_addr;
    siglongjmp(back, 1);
}

static void store(int fd, int value) {
    uint8_t code[6];
    put(code, value);
    require(pwrite(fd, code, sizeof code, 0) == sizeof code, "pwrite");
}

static const char *call(uint8_t *p) {
    static char text[64];
    if (sigsetjmp(back, 1))
        snprintf(text, sizeof text, "signal %d%s", fault_sig, fault_addr == p ? " there" : " elsewhere");
    else
        snprintf(text, sizeof text, "%d", ((fn)p)());
    return text;
}

int main(void) {
    struct sigaction sa = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGBUS, &sa, NULL);
    sigaction(SIGSEGV, &sa, NULL);
    char name[] = "/tmp/code-XXXXXX";
    int fd = mkstemp(name);
    require(fd >= 0, name);
    require(ftruncate(fd, 8192) == 0, "ftruncate");
    store(fd, 1);
    uint8_t *p = map_file(fd, 8192, RX, MAP_PRIVATE);
    printf("written while open: %s", call(p));
    for (int i = 2; i < 6; i++) {
        store(fd, i);
        printf(" %s", call(p));
    }
    close(fd);
    /* Mapped through a descriptor that cannot write; opened for writing later. */
    int in = open(name, O_RDONLY);
    uint8_t *q = map_file(in, 8192, RX, MAP_PRIVATE);
    close(in);
    printf("\nopened later: %s", call(q));
    fd = open(name, O_RDWR);
    for (int i = 20; i < 60; i += 10) {
        store(fd, i);
        printf(" %s", call(q));
    }
    uint8_t *w = map_file(fd, 8192, RW, MAP_SHARED);
    put(w, 70);
    printf(" %s", call(q));
    /* Written privately: from now on the page is the mapping's own. */
    require(mprotect(q, 4096, RW) == 0, "mprotect");
    put(q + 64, 80);
    require(mprotect(q, 4096, RX) == 0, "mprotect");
    store(fd, 90);
    printf(" own %s\n", call(q));
    printf("truncated: %s", call(p));
    require(ftruncate(fd, 0) == 0, "ftruncate");
    printf(" %s", call(p));
    require(ftruncate(fd, 8192) == 0, "ftruncate");
    store(fd, 100);
    printf(" %s", call(p));
    uint8_t *s = map_file(fd, 8192, RX, MAP_SHARED);
    printf(" shared %s", call(s));
    require(ftruncate(fd, 0) == 0, "ftruncate");
    printf(" %s\n", call(s));
    unlink(name);
    return 0;
}
