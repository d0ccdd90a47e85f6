/* The deprecated request that passes its va_list by value. */
#include <interpose/interpose.h>
#include <stdio.h>
int main(void) {
    printf("%lu\n", INTERPOSE_REQUEST(0, 0x1401, "text", 0, 0, 0, 0));
    return 0;
}
