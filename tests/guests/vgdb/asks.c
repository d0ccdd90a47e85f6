/* Each argument is a monitor command that the program itself gives; the result is printed. */
#include <stdio.h>
#include <stdlib.h>

#include "valgrind/valgrind.h"

int main(int argc, char **argv) {
    char *p = malloc(10);
    for (int i = 1; i < argc; i++) {
        fprintf(stderr, "## %s\n", argv[i]);
        fprintf(stderr, "-> %d\n", (int)VALGRIND_MONITOR_COMMAND(argv[i]));
    }
    free(p);
    return 3;
}
