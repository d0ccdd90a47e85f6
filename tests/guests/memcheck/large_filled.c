/* Large blocks that are filled from end to end, in several ways, but for a few bytes; then freed and asked for again. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SIZE (12u << 20)

static volatile int sum;

/* The only undefined bytes. */
static void look(const char *p, const char *how) {
    size_t at = 7654321;
    for (size_t i = 0; i < SIZE; i += 4096)
        if (i != at / 4096 * 4096 && p[i] == 3) sum++;
    fprintf(stderr, "%s\n", how);
    if (p[at] == 77) sum++;
    if (p[at + 1] == 77) sum++;
}

static char *block(void) { return malloc(SIZE); }

int main(void) {
    char *p = block();
    for (size_t i = 0; i < SIZE / 8; i++) /* by words, all but one */
        if (i != 7654321 / 8) ((volatile long *)p)[i] = (long)i;
    look(p, "words");

    char *q = block();
    memcpy(q, p, SIZE);
    look(q, "copied");
    free(p);

    p = block(); /* it was defined when it was freed */
    look(p, "fresh");
    memset(p, 1, 7654321);
    memset(p + 7654323, 1, SIZE - 7654323);
    look(p, "set");

    int zero = open("/dev/zero", O_RDONLY);
    char *r = block();
    for (size_t i = 0; i < SIZE; i += 1 << 20)
        if (read(zero, r + i, 1 << 20) != 1 << 20) return 1;
    r[7654321] = q[7654321]; /* undefined again, in memory that was given back */
    r[7654322] = q[7654322];
    look(r, "read");

    for (size_t i = SIZE / 8; i-- > 0;) /* downwards */
        if (i != 7654321 / 8) ((volatile long *)q)[i] = (long)i;
    memmove(q, q + 8, SIZE - 8);
    memmove(q + 8, q, SIZE - 8);
    look(q, "moved");
    free(p);
    free(q);
    free(r);
    return sum > 1000000;
}
