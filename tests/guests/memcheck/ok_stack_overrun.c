/* No error: an array on the stack is overrun into its neighbours, which memcheck cannot see. */
#include <string.h>

int main(void) {
    struct { volatile char small[8]; volatile char next[8]; } s;
    memset((void *)&s, 1, sizeof s);
    int sum = 0;
    for (volatile int i = 0; i < 12; i++)
        sum += s.small[i];
    return sum != 12;
}
