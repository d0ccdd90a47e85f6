/* A thread forks; the child has an error and a leak of its own in this report.  @build: -pthread
 * @options: --leak-check=full */
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static char *block;

static void *run(void *argument) {
    int status;
    pid_t child = fork();
    if (child == 0) {
        block[6] = 1;
        block = 0;
        _exit(block != 0);
    }
    waitpid(child, &status, 0);
    block[5] = 1;
    return (void *)(long)(status != 0);
}

int main(void) {
    pthread_t t;
    void *result;
    block = malloc(5);
    pthread_create(&t, 0, run, 0);
    pthread_join(t, &result);
    free(block);
    return (int)(long)result;
}
