/* GET_VBITS and SET_VBITS. */
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

int main(void) {
    unsigned char v[4];
    unsigned *p = malloc(sizeof *p), *q = malloc(sizeof *q);
    int bad = 0;
    *p = (*p & 0x00ff0000) | 1;
    bad += VALGRIND_GET_VBITS(p, v, 4) != 1;
    bad += v[0] != 0 || v[1] != 0 || v[2] != 0xff || v[3] != 0;
    *q = 0;
    bad += VALGRIND_SET_VBITS(q, v, 4) != 1;
    if (*q & 0xff00ffff)
        bad++;
    if (*q & 0x00800000)
        bad++;
    free(q);
    bad += VALGRIND_GET_VBITS(q, v, 4) != 3;
    free(p);
    return bad;
}
