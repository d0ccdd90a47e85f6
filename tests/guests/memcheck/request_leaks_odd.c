/* Leak searches in modes and deltas that there are not, and where the warning about ranges stands. */
/* @options: --leak-check=full */
#include <stdlib.h>
#include <valgrind/memcheck.h>

int main(void) {
    char *block = malloc(10);
    VALGRIND_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE(block + 10, 4);
    if (block[3])
        block[10] = 1;
    malloc(77);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DO_LEAK_CHECK, 7, 9, 0, 0, 0);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DO_LEAK_CHECK, 1, -1L, 0, 0, 0);
    VALGRIND_DO_CLIENT_REQUEST_STMT(VG_USERREQ__DO_LEAK_CHECK, -1L, 2, 0, 0, 0);
    return 0;
}
