/* A thread executes the program anew while the first one runs new code all the time, most often amid its translation. */
// flags: -pthread
// modes: none trace-children
#define _GNU_SOURCE
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { ROUNDS = 16, FUNCTIONS = 4000, BYTES = 32 };

static int round_number;

static void *execute(void *self) {
    char number[16];
    usleep((useconds_t)(400 * round_number));
    snprintf(number, sizeof number, "%d", round_number + 1);
    execl(self, self, number, NULL);
    return NULL;
}

int main(int argc, char **argv) {
    static const unsigned char text[] = {0x89, 0xf8, 0xeb, 0, 0xc3}; /* mov %edi,%eax; jmp; ret */
    pthread_t thread;
    round_number = argc > 1 ? atoi(argv[1]) : 0;
    if (round_number == ROUNDS) {
        puts("sixteen times");
        return 0;
    }
    unsigned char *code = mmap(NULL, FUNCTIONS * BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < FUNCTIONS; i++) memcpy(code + i * BYTES, text, sizeof text);
    mprotect(code, FUNCTIONS * BYTES, PROT_READ | PROT_EXEC);
    pthread_create(&thread, NULL, execute, "/proc/self/exe");
    for (int i = 0;; i = (i + 1) % FUNCTIONS)
        if (((int (*)(int))(void *)(code + i * BYTES))(i) != i) abort();
}
