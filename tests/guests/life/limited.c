/* limited MEGABYTES: lowers its own limit on address space at run time, then asks for more in every way. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void *nothing(void *arg) { return arg; }

static void show(const char *what, int refused) { printf("%s: %s\n", what, refused ? strerror(errno) : "granted"); }

int main(int argc, char **argv) {
    unsigned long megabytes = strtoul(argv[1], NULL, 10);
    struct rlimit old, limit;
    getrlimit(RLIMIT_AS, &old);
    limit = (struct rlimit){megabytes << 20, old.rlim_max};
    if (setrlimit(RLIMIT_AS, &limit)) return 1;
    show("too much", (errno = 0, malloc((megabytes + 1) << 20) == NULL));
    void **chain = NULL;
    int blocks = 0;
    for (;;) { /* until there is none */
        void **block = malloc(1 << 20);
        if (!block) break;
        *block = chain;
        chain = block;
        blocks++;
    }
    printf("blocks: %s\n", blocks > 2 && blocks <= (int)megabytes ? "some" : "not as many as there is room for");
    show("another", (errno = 0, malloc(1 << 20) == NULL));
    show("calloc", (errno = 0, calloc(1 << 10, 1 << 10) == NULL));
    show("realloc", (errno = 0, realloc(chain, 8 << 20) == NULL));
    show("mmap", mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    show("mmap of code", mmap(NULL, 2 << 20, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED);
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, 8 << 20);
    errno = pthread_create(&t, &attr, nothing, NULL);
    show("thread", errno != 0);
    while (chain) {
        void **next = *chain;
        free(chain);
        chain = next;
    }
    setrlimit(RLIMIT_AS, &old);
    show("again", malloc(1 << 20) == NULL);
    errno = pthread_create(&t, &attr, nothing, NULL);
    show("thread", errno != 0);
    pthread_join(t, NULL);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) _exit(6);
    int status;
    waitpid(child, &status, 0);
    printf("child %d\n", WEXITSTATUS(status));
    return 5;
}
