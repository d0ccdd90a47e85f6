/* Mistakes below and around hooked functions. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define F __attribute__((noipa, used))

F int reads(const char *p) { return p[20]; } /* beyond a block */
F int takes(int n) { return n; }
F int fills(int *p, int n) { return n; }
F int calls(int n) { return takes(n) + 1; }

int main(void) {
    char *p = malloc(16);
    volatile int undefined[2];
    printf("reads %d\n", reads(p) == 12345);
    if (takes(undefined[0]) == 7) puts("seven");
    int filled[4];
    fills(filled, 4);
    if (filled[2] == 3) puts("filled");
    printf("calls %d\n", calls(1));
    free(p);
    return 0;
}
