/* String functions over undefined bytes. */
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(16);
    memcpy(p, "abc", 3);
    p[7] = 0;
    volatile long sink = (long)strlen(p);
    p[3] = 0;
    sink += (long)strlen(p);
    sink += strcmp(p, "abc");
    sink += memcmp(p, "abc\0efgh", 6);
    sink += (long)memchr(p, 'q', 6);
    (void)sink;
    free(p);
    return 0;
}
