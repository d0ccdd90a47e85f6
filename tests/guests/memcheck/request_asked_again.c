/* What a program may ask again and again: the same answer as long as nothing has changed, another one after an error, a
 * repeated one, a search for leaks, and in a forked child, whose described blocks are its parent's. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <valgrind/memcheck.h>

static char area[64];
static volatile int sum;
static char *volatile kept;

static void show_errors(void) {
    for (int i = 0; i < 2; i++) fprintf(stdout, "errors %u\n", (unsigned)VALGRIND_COUNT_ERRORS);
}
static void show_leaks(void) {
    for (int i = 0; i < 2; i++) {
        unsigned long lost = 0, dubious = 0, reachable = 0, suppressed = 0;
        VALGRIND_COUNT_LEAKS(lost, dubious, reachable, suppressed);
        fprintf(stdout, "leaks %lu %lu %lu\n", lost, dubious, suppressed);
        VALGRIND_COUNT_LEAK_BLOCKS(lost, dubious, reachable, suppressed);
        fprintf(stdout, "blocks %lu %lu %lu\n", lost, dubious, suppressed);
    }
}
static void wrong(int at) { sum += area[at]; }

int main(void) {
    static char name[3000];
    memset(name, 'x', sizeof name - 1);
    setvbuf(stdout, NULL, _IONBF, 0);
    VALGRIND_CREATE_BLOCK(area, 4, "first block");
    VALGRIND_CREATE_BLOCK(area + 4, 4, name);
    VALGRIND_MAKE_MEM_NOACCESS(area, 8);
    show_errors();
    for (int i = 0; i < 3; i++) {
        wrong(1);
        show_errors();
    }
    wrong(5);
    show_errors();
    show_leaks();
    kept = malloc(100);
    kept = NULL;
    show_leaks();
    VALGRIND_DO_QUICK_LEAK_CHECK;
    show_leaks();
    show_errors();
    pid_t child = fork();
    if (!child) {
        show_errors();
        sum += area[2];
        show_errors();
        kept = malloc(50);
        kept = NULL;
        VALGRIND_DO_QUICK_LEAK_CHECK;
        show_leaks();
        _exit(0);
    }
    waitpid(child, NULL, 0);
    show_errors();
    show_leaks();
    return 0;
}
