/* Stop and continue, seen by the parent. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
static volatile sig_atomic_t cont;
static void on(int s) { (void)s; cont++; }
int main(void) {
    int st;
    pid_t p = fork();
    if (!p) {
        signal(SIGCONT, on);
        for (int i = 0; i < 2; i++) { /* SIGTSTP does nothing in an orphaned process group */
            raise(SIGSTOP);
            usleep(50000); /* or the second stop hides the first continuation */
        }
        _exit(10 + cont);
    }
    for (int i = 0; i < 2; i++) {
        waitpid(p, &st, WUNTRACED);
        printf("stopped %d by %d\n", WIFSTOPPED(st), WSTOPSIG(st));
        kill(p, SIGCONT);
        waitpid(p, &st, WCONTINUED);
        printf("continued %d\n", WIFCONTINUED(st) != 0);
    }
    waitpid(p, &st, 0);
    printf("exit %d\n", WEXITSTATUS(st));
    return 0;
}
