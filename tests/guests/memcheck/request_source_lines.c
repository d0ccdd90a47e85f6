/* MAP_IP_TO_SRCLOC: file and line of code, nothing of what is none. */
#include <stdio.h>
#include <string.h>
#include <valgrind/valgrind.h>

static int here(void) { return 3; }

int main(void) {
    char out[64];
    memset(out, 'x', sizeof out);
    VALGRIND_MAP_IP_TO_SRCLOC(here, out);
    fprintf(stdout, "%s\n", out);
    VALGRIND_MAP_IP_TO_SRCLOC((char *)here + 5, out);
    fprintf(stdout, "%s\n", out);
    VALGRIND_MAP_IP_TO_SRCLOC(out, out);
    fprintf(stdout, "<%s>\n", out);
    VALGRIND_MAP_IP_TO_SRCLOC(0, out);
    fprintf(stdout, "<%s>\n", out);
    return 0;
}
