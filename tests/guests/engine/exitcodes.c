// exit: 77
/* atexit handlers, destructors, flushed output and the status. */
#include <stdio.h>
#include <stdlib.h>
static void a(void) { puts("a"); }
static void b(void) { puts("b"); }
__attribute__((destructor)) static void d(void) { puts("destructor"); }
__attribute__((constructor)) static void c(void) { puts("constructor"); }
int main(void) {
    atexit(a);
    atexit(b);
    printf("no newline");
    exit(77 + 256);
}
