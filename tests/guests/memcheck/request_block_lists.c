/* Blocks of loss records are listed after a search of which only sums were told, and not once some have been freed.
 * @options: --leak-check=no */
#include <stdlib.h>
#include <valgrind/memcheck.h>

char *kept;

int main(void) {
    for (int i = 0; i < 3; i++) {
        char *volatile lost = malloc(10 + i);
        lost = NULL;
    }
    char *volatile p = malloc(99);
    kept = malloc(50);
    VALGRIND_MONITOR_COMMAND("block_list 1");
    VALGRIND_MONITOR_COMMAND("leak_check summary");
    VALGRIND_MONITOR_COMMAND("block_list 1..9");
    VALGRIND_DO_QUICK_LEAK_CHECK;
    VALGRIND_MONITOR_COMMAND("block_list 2");
    VALGRIND_MONITOR_COMMAND("leak_check full changed");
    free(p);
    VALGRIND_MONITOR_COMMAND("block_list 1..9");
    VALGRIND_DO_QUICK_LEAK_CHECK;
    VALGRIND_MONITOR_COMMAND("block_list 1..9");
    VALGRIND_MONITOR_COMMAND("block_list 1");
    VALGRIND_MONITOR_COMMAND("block_list 1..1");
    VALGRIND_MONITOR_COMMAND("block_list 1..9 limited 2");
    VALGRIND_MONITOR_COMMAND("block_list 1..9 limited 3");
    VALGRIND_MONITOR_COMMAND("block_list 1..9 limited 4");
    return 0;
}
