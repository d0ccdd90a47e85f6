/* Only the search at exit is told in a file: those that the program asks for are shown as ever.
 * @options: --xtree-leak=yes --xtree-leak-file=leaks.kcg --xtree-compress-strings=no */
#include <stdlib.h>
#include <valgrind/memcheck.h>

char *kept;

int main(void) {
    kept = malloc(5);
    char *volatile lost = malloc(6);
    lost = NULL;
    VALGRIND_DO_LEAK_CHECK;
    lost = malloc(7);
    lost = NULL;
    VALGRIND_DO_ADDED_LEAK_CHECK;
    VALGRIND_DO_QUICK_LEAK_CHECK;
    VALGRIND_MONITOR_COMMAND("leak_check full any");
    return 0;
}
