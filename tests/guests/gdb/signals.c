#include <signal.h>
#include <stdio.h>
volatile int usr1, usr2, alarmed;
void on_usr1(int s) { usr1++; }
void on_usr2(int s) { usr2++; }
void on_alarm(int s) { alarmed++; }
int main(void) {
    signal(SIGUSR1, on_usr1);
    signal(SIGUSR2, on_usr2);
    signal(SIGALRM, on_alarm);
    raise(SIGUSR1);
    raise(SIGUSR1);
    raise(SIGUSR1);
    raise(SIGALRM);
    printf("usr1 %d usr2 %d alarm %d\n", usr1, usr2, alarmed);
    fflush(stdout);
    raise(SIGTERM);
    return 0;
}
