/* zlib's functions once each, on blocks that are as long as they have to be. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "zlib.h"

int main(int argc, char **argv) {
    enum { LENGTH = 70000 };
    unsigned char *text = malloc(LENGTH), *back = malloc(LENGTH);
    for (int i = 0; i < LENGTH; i++)
        text[i] = (unsigned char)(i * i >> 7 & 63);
    uLong bound = compressBound(LENGTH), length = LENGTH;
    unsigned char *packed = malloc(bound);
    if (compress2(packed, &bound, text, LENGTH, 6) != Z_OK || uncompress(back, &length, packed, bound) != Z_OK)
        return 1;
    if (memcmp(text, back, LENGTH))
        return 2;

    z_stream one, two;
    memset(&one, 0, sizeof one);
    if (inflateInit(&one) != Z_OK)
        return 3;
    one.next_in = packed, one.avail_in = (uInt)bound / 2;
    one.next_out = back, one.avail_out = LENGTH / 2;
    inflate(&one, Z_SYNC_FLUSH);
    if (inflateCopy(&two, &one) != Z_OK)
        return 4;
    inflateEnd(&one);
    inflateEnd(&two);

    gzFile file = gzopen(argv[1], "wb");
    gzwrite(file, text, LENGTH);
    gzprintf(file, "%d", 5);
    if (gzclose(file) != Z_OK)
        return 5;
    file = gzopen(argv[1], "rb");
    if (gzread(file, back, LENGTH) != LENGTH)
        return 6;
    gzclose(file);
    printf("%lx %lx\n", adler32(1, text, LENGTH), crc32(0, text, LENGTH));
    free(text), free(back), free(packed);
    return 0;
}
