/* Castagnoli's checksum (checksum.h), half a byte at a time. */
#include "formats/drmemtrace/checksum.h"

static const uint32_t by_half[16] = {
    0x00000000, 0x105ec76f, 0x20bd8ede, 0x30e349b1, 0x417b1dbc, 0x5125dad3, 0x61c69362, 0x7198540d,
    0x82f63b78, 0x92a8fc17, 0xa24bb5a6, 0xb21572c9, 0xc38d26c4, 0xd3d3e1ab, 0xe330a81a, 0xf36e6f75,
};

uint32_t ip_mt_crc32c(const uint8_t *from, uint64_t n) {
    uint32_t sum = ~0u;
    for (uint64_t i = 0; i < n; i++) {
        sum ^= from[i];
        sum = sum >> 4 ^ by_half[sum & 15];
        sum = sum >> 4 ^ by_half[sum & 15];
    }
    return ~sum;
}
