/* Strings for the kernel, undefined in part and without an end: the first wrong byte is the one that is told.
 * @options: -q --free-fill=1 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "valgrind/memcheck.h"

static char *path(int undefined) {
    char *p = malloc(100);
    memset(p, 'x', 100);
    VALGRIND_MAKE_MEM_NOACCESS(p + 40, 60);
    if (undefined >= 0) VALGRIND_MAKE_MEM_UNDEFINED(p + undefined, 3);
    return p;
}

int main(void) {
    access(path(6), 0);
    access(path(37), 0); /* up to the end */
    access(path(-1), 0); /* unaddressable alone */
    rename(path(0), path(20));
    char *crosses = memalign(64, 200); /* what is read piece by piece */
    memset(crosses, 'y', 199);
    crosses[199] = 0;
    VALGRIND_MAKE_MEM_UNDEFINED(crosses + 70, 4);
    VALGRIND_MAKE_MEM_NOACCESS(crosses + 100, 1);
    chmod(crosses, 0);
    return 0;
}
