/* memcmp of blocks shorter than the length it is given: what lies behind a difference is not looked at, but for the
 * rest of a word where both sides are aligned. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(void) {
    static const char prefix[32] __attribute__((aligned(8))) = "#!/usr/bin/interpreter";
    char *line = malloc(4), *aligned = malloc(16), *undefined = malloc(24);
    int greater = 0;
    memcpy(line, "#!x", 4);
    greater += memcmp(line, prefix, 19) > 0;
    greater += memcmp(line + 1, prefix + 1, 18) > 0;
    greater += memcmp(prefix + 3, line + 1, 12) > 0;
    memcpy(aligned, prefix, 16);
    greater += memcmp(aligned, prefix, 19) > 0;         /* an invalid read */
    greater += memcmp(aligned + 1, prefix + 1, 18) > 0; /* and here */
    memcpy(undefined + 1, prefix + 1, 9);
    printf("%d\n", greater);
    if (memcmp(undefined + 1, prefix + 1, 16)) puts("differs"); /* one condition in there, one here */
    return 0;
}
