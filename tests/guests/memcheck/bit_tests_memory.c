/* Bit tests of memory whose index is a register access the byte that holds the bit, whatever the operand's size. */
#include <stdlib.h>
#include <string.h>

#define TEST(op, type, at)                                                                                     \
    do {                                                                                                       \
        type index = (type)(at);                                                                               \
        char carry;                                                                                            \
        __asm__ volatile(op " %2, (%1); setc %0" : "=q"(carry) : "r"(m), "r"(index) : "memory", "cc");         \
        if (carry)                                                                                             \
            found++;                                                                                           \
    } while (0)

int main(void) {
    volatile int found = 0;
    unsigned char *m = malloc(61);
    memset(m, 0x11, 60); /* the last byte stays undefined */
    long unknown = m[60];

    /* Words that reach over the end, or begin in the undefined byte, with a good bit. */
    TEST("btq", long, 8 * 59);
    TEST("btsq", long, 8 * 58 + 1);
    TEST("btrl", int, 8 * 59 + 2);
    TEST("btcw", short, 8 * 59 + 3);

    TEST("btq", long, 8 * 60);
    TEST("btl", int, 8 * 60 + 1);
    TEST("btw", short, 8 * 60 + 2);

    TEST("btq", long, 8 * 61);
    TEST("btl", int, 8 * 61);
    TEST("btw", short, 8 * 61);
    TEST("btq", long, 8 * 70 + 5);
    TEST("btq", long, -8);
    TEST("btl", int, -1);
    TEST("btw", short, -17);

    /* An index of which only the place in the byte is undefined, and one of which more is. */
    TEST("btq", long, unknown & 7);
    TEST("btl", int, unknown & 8);

    /* What that leaves of the byte. */
    m[0] = 0xff;
    m[1] = 0;
    m[2] = 0x55;
    __asm__ volatile("btsq %1, (%0)" : : "r"(m), "r"(unknown & 7) : "memory", "cc");
    __asm__ volatile("btrq %1, (%0)" : : "r"(m), "r"((unknown & 7) + 8) : "memory", "cc");
    __asm__ volatile("btcq %1, (%0)" : : "r"(m), "r"((unknown & 7) + 16) : "memory", "cc");
    if (m[0] == 0xff)
        found++;
    if (m[1] == 0)
        found++;
    if (m[2] == 0x55)
        found++;
    if (m[3] == 0x11)
        found++;

    /* Setting one bit defines that bit, and no other. */
    TEST("btsq", long, 8 * 60 + 4);
    if (m[60] & 0x10)
        found++;
    if (m[60] & 0x20)
        found++;
    free(m);
    return 0;
}
