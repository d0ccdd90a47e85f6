/* Zero shifted by an undefined number of places is zero. What the compiler makes of wide integers shifts such halves.
 * @build: -O2
 * @options: -q */
#include <stdlib.h>

#define SHIFTED(name, type, value)                                                                        \
    static int __attribute__((noinline)) name(unsigned char *count) {                                     \
        type n = value;                                                                                   \
        __asm__("" : "+r"(n)); /* not known to the compiler */                                            \
        return (n SHIFT(*count)) == value;                                                                \
    }

#define SHIFT(n) >> ((n) & 31)
SHIFTED(right, unsigned, 0)
SHIFTED(sign, int, -1)
SHIFTED(sign_of_zero, long, 0)
#undef SHIFT
#define SHIFT(n) << ((n) & 63)
SHIFTED(left, unsigned long, 0)

static int __attribute__((noinline)) wide(unsigned short *value, unsigned char *count) {
    return (int)((((unsigned __int128)(*value & 31) >> (*count & 127)) >> 1) & 15);
}

int main(void) {
    unsigned char *undefined = malloc(1), *count = malloc(1);
    unsigned short value = 1;
    *count = (*undefined & 0x20) | 0x5b;
    int r = right(undefined) + sign(undefined) + sign_of_zero(undefined) + left(undefined);
    if (wide(&value, count)) r++;
    return r == 4 ? 0 : 1;
}
