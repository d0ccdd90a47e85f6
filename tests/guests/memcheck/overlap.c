/* Overlapping arguments of copying string functions. */
#include <string.h>

int main(void) {
    char a[64] = "0123456789abcdef";
    volatile int off = 4;
    strcpy(a, a + off);
    strcpy(a, "0123456789abcdef");
    strncpy(a + off, a, 10);
    strcpy(a, "01234567");
    strncat(a, a + off, 3);
    memset(a, 'x', 40);
    a[20] = a[50] = 0;
    strcat(a + 10, a + 15);
    memmove(a + off, a, 20);
    return 0;
}
