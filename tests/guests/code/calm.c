/* Rewritten often, then not for a while; asked by the test to be rewritten once more. */
#include "code.h"

int main(void) {
    uint8_t *p = map(4096, RWX);
    long sum = 0;
    int value;
    for (int i = 0; i < 200; i++) {
        put(p, i);
        sum += ((fn)p)();
    }
    printf("%p %ld\n", (void *)p, sum);
    fflush(stdout);
    while (read(0, &value, sizeof value) == sizeof value) {
        if (value) put(p, value);
        printf("%d\n", ((fn)p)());
        fflush(stdout);
    }
    return 0;
}
