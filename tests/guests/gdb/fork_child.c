#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int watched;
int common(int n) { return n + 1; }
static void *nothing(void *arg) { return arg; }
int main(void) {
    int ends[2];
    pipe(ends);
    pid_t child = fork();
    if (child) {
        /* It ends first. */
        close(ends[0]);
        common(99);
        write(ends[1], "p", 1);
        return 2;
    }
    char byte;
    close(ends[1]);
    read(ends[0], &byte, 1);
    read(ends[0], &byte, 1); /* until the parent has ended */
    for (int i = 0; i < 5; i++) common(i);
    pthread_t thread;
    pthread_create(&thread, 0, nothing, 0);
    pthread_join(thread, 0);
    watched = 7;
    puts("the child is through");
    fflush(stdout);
    if (fork() == 0) _exit(common(50));
    wait(0);
    return common(6);
}
