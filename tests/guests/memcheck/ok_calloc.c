/* No error: calloc, zeroed blocks reused after dirty ones, reallocarray, arithmetic on what is defined. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

int main(void) {
    int bad = 0;
    for (int i = 0; i < 50; i++) {
        char *p = malloc(1000);
        memset(p, 0xff, 1000);
        free(p);
        char *q = calloc(100, 10);
        for (int k = 0; k < 1000; k++)
            if (q[k])
                bad++;
        q = reallocarray(q, 50, 10);
        if (q[499])
            bad++;
        free(q);
    }
    return bad;
}
