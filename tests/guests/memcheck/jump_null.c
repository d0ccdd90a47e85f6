/* A null function pointer is called. */
#include <stddef.h>

static void (*volatile handler)(int) = NULL;

static void dispatch(int n) { handler(n); }

int main(void) {
    dispatch(3);
    return 0;
}
