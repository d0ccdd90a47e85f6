/* mempcpy and bcopy of bytes to where they are look at none of them; memcpy's kin that must not overlap say that they do. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void *(*volatile appended)(void *, const void *, size_t) = mempcpy;
static void (*volatile turned)(const void *, void *, size_t) = bcopy;

int main(void) {
    char *p = malloc(20);
    turned(p + 10, p + 10, 40);
    turned(p + 10, p + 10, 400);
    appended(p + 10, p + 10, 40);
    appended(p + 10, p + 10, 400);
    appended(p + 10, p + 10, 0);
    turned(p + 10, p + 11, 9);
    turned(p + 11, p + 10, 10);
    free(p);
    turned(p, p, 20);
    return 0;
}
