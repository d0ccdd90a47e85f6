// signal: SIGKILL
#include <signal.h>
#include <stdio.h>
#include <unistd.h>
int main(void) { puts("x"); fflush(stdout); kill(getpid(), SIGKILL); return 0; }
