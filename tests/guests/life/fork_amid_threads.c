/* Forks while several threads make threads all the time: prints how many children ended as they should. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAKERS 4
#define FORKS  6
static atomic_int stop;

static void *nothing(void *arg) { return arg; }

static void *makes(void *arg) {
    while (!stop) {
        pthread_t t;
        if (pthread_create(&t, NULL, nothing, NULL) == 0) pthread_join(t, NULL);
    }
    return arg;
}

int main(void) {
    pthread_t makers[MAKERS];
    int well = 0;
    for (int i = 0; i < MAKERS; i++) pthread_create(&makers[i], NULL, makes, NULL);
    for (int i = 0; i < FORKS; i++) {
        int status = 0;
        pid_t child = fork();
        if (child == 0) {
            pthread_t t;
            _exit(pthread_create(&t, NULL, nothing, NULL) == 0 && pthread_join(t, NULL) == 0 ? 7 : 1);
        }
        well += waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7;
    }
    stop = 1;
    for (int i = 0; i < MAKERS; i++) pthread_join(makers[i], NULL);
    printf("%d children\n", well);
    return 0;
}
