/* Requests of debuggers, of Wine and of Valgrind itself: taken, without effect on the report. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

int main(void) {
    char name[16];
    memset(name, 0, sizeof name);
    fprintf(stdout, "%d %d\n", (int)(RUNNING_ON_VALGRIND != 0), (int)VALGRIND_REPLACES_MALLOC);
    VALGRIND_DISCARD_TRANSLATIONS(main, 16);
    VALGRIND_LOAD_PDB_DEBUGINFO(-1, 0, 0, 0);
    fprintf(stdout, "%d\n", (int)VALGRIND_MONITOR_COMMAND("v.info all_errors"));
    fprintf(stdout, "%d\n", (int)VALGRIND_MONITOR_COMMAND("no such command"));
    char *p = malloc(3);
    p[3] = 1;
    free(p);
    return 0;
}
