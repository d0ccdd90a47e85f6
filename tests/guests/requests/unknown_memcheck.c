/* Requests with memcheck's letters that nobody knows: each is named once, and answered with its default. */
#include <valgrind/valgrind.h>

int main(void) {
    int wrong = 0;
    for (int i = 0; i < 3; i++)
        for (unsigned code = 0x4d4300f0; code < 0x4d4300f2; code++)
            wrong += VALGRIND_DO_CLIENT_REQUEST_EXPR(7, code, 1, 2, 3, 4, 5) != 7;
    return wrong;
}
