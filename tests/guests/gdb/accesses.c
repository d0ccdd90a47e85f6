#include <stdlib.h>
#include <string.h>
/* Errors where nothing is undefined: stops are before the instruction that accesses. */
volatile int kept;
__attribute__((noinline)) static void put(char *p) {
    kept++;
    p[10] = 1;
    kept++;
}
__attribute__((noinline)) static void add(int *p) {
    kept++;
    p[3] += 5;
    kept++;
}
__attribute__((noinline)) static void move(char *to, const char *from, unsigned long n) {
    kept++;
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(n) : : "memory");
    kept++;
}
int main(void) {
    char *p = calloc(1, 10);
    int *q = calloc(1, 12);
    for (int i = 0; i < 3; i++) put(p);
    add(q);
    move(p + 4, (char *)q, 8);
    free(p);
    kept += p[3];
    free(q);
    return kept;
}
