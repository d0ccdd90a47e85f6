/* A forked child patches its own copy of the code, and the parent its own, while both run it. */
#include "code.h"
#include <sys/wait.h>

int main(void) {
    uint8_t *p = map(4096, RWX), *x = map(4096, RW);
    put(p, 1);
    put(x, 2);
    mprotect(x, 4096, RX);
    long sum = ((fn)p)() + ((fn)x)();
    for (int k = 0; k < 4; k++) {
        fflush(stdout); /* the child's end may flush it (libc's release functions) */
        pid_t child = fork();
        if (child == 0) {
            int bad = ((fn)p)() != (k ? 99 + 100 * k : 1) || ((fn)x)() != 2;
            for (int i = 0; i < 100; i++) {
                put(p, 1000 * k + i);
                bad += ((fn)p)() != 1000 * k + i;
            }
            mprotect(x, 4096, RW);
            put(x, 50 + k);
            mprotect(x, 4096, RX);
            bad += ((fn)x)() != 50 + k;
            _exit(bad);
        }
        for (int i = 0; i < 100; i++) {
            put(p, 100 * (k + 1) + i);
            sum += ((fn)p)() == 100 * (k + 1) + i;
        }
        int status;
        waitpid(child, &status, 0);
        printf("child %d, here %d %d\n", status, ((fn)p)(), ((fn)x)());
    }
    printf("%ld\n", sum);
    return 0;
}
