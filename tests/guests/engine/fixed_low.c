// linked where libraries go otherwise
// flags: -no-pie -Wl,-Ttext-segment=0x10000000
#include <stdio.h>
#include <stdlib.h>

int main(void) {
    char *p = malloc(10);
    printf("at %d, heap %d\n", (int)((unsigned long)main >> 24), p != NULL);
    free(p);
    return 0;
}
