/* Calls functions that Memcheck replaces; around_wrapper.c wraps them. With an argument, reads behind a block. */
#include <stdlib.h>
#include <string.h>
#include "header.h"
volatile char sink;
int main(int argc, char **argv) {
    char *volatile a = (char *)malloc(1234);
    char *volatile b;
    void (*volatile copy)(void *, const void *, size_t) = (void (*)(void *, const void *, size_t))memcpy;
    size_t (*volatile length)(const char *) = strlen;
    a = (char *)realloc(a, 4321);
    copy(a, "one two", 8);
    b = (char *)calloc(3, length(a) + 1);
    copy(b, a, 8);
    printf("%s, %d\n", b, (int)length(b));
    free(b);
    if (argc > 1) sink = a[4321];
    free(a);
    return 0;
}
