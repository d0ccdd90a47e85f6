/* Gives its rights up, and makes a child that has none. */
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

int main(void)
{
    volatile unsigned sum = 0;
    if (setuid(65534) != 0) return 1;
    pid_t child = fork();
    for (unsigned i = 0; i < 30000; i++) sum += i % 7;
    if (child == 0) _exit(0);
    int status;
    waitpid(child, &status, 0);
    printf("%u\n", sum);
    return status;
}
