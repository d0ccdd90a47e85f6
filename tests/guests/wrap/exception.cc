// Exceptions pass through a wrapper on their way to the handler.
#include <stdexcept>
#include "header.h"
static int wraps;
extern "C" NOINLINE int thrower(int x) {
    if (x % 2) throw std::runtime_error("odd");
    return x;
}
extern "C" int I_WRAP_SONAME_FNNAME_ZU(NONE, thrower)(int x) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps++;
    CALL_FN_W_W(result, fn, x);
    return result + 100;
}
int main() {
    int caught = 0, sum = 0;
    for (int i = 0; i < 10; i++) {
        try {
            sum += thrower(i);
        } catch (const std::runtime_error &error) {
            caught += error.what()[0] == 'o';
        }
    }
    printf("caught %d sum %d wraps %d\n", caught, sum, wraps);
    return 0;
}
