/* Signals of faults that another process sends while this one, which blocks them, goes to sleep for them: each comes
 * through, whenever it was sent. */
#include <signal.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

int main(void) {
    static const int sent[] = {SIGSEGV, SIGTRAP, SIGBUS};
    const struct timespec long_enough = {10, 0};
    int go[2], lost = 0;
    sigset_t set;
    sigemptyset(&set);
    for (int i = 0; i < 3; i++) sigaddset(&set, sent[i]);
    sigprocmask(SIG_BLOCK, &set, NULL);
    if (pipe(go) != 0) return 1;
    pid_t me = getpid();
    if (fork() == 0) {
        char round;
        close(go[1]);
        sigprocmask(SIG_UNBLOCK, &set, NULL); /* it stands still nowhere (--delays) */
        while (read(go[0], &round, 1) == 1)
            for (int i = 0; i < 3; i++) {
                usleep(20000); /* while it is on its way */
                kill(me, sent[(round + i) % 3]);
            }
        return 0;
    }
    for (char round = 0; round < 3; round++) {
        if (write(go[1], &round, 1) != 1) return 2;
        for (int i = 0; i < 3; i++) lost += sigtimedwait(&set, NULL, &long_enough) < 0;
    }
    printf("%d lost\n", lost);
    return 0;
}
