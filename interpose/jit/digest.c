/* Checksum of what is kept on disk. */
#include "jit/digest.h"

#include <string.h>

#define LANES 4u
#define ODD   0x9e3779b97f4a7c15ull /* the golden ratio; odd, so that multiplying by it loses nothing */

static uint64_t turned(uint64_t x, unsigned by) { return x << by | x >> (64 - by); }

/* One to one. */
static uint64_t mixed(uint64_t x) {
    x = (x ^ x >> 32) * ODD;
    x = (x ^ x >> 29) * ODD;
    return x ^ x >> 32;
}

/* Each word goes into one lane, by a function that is one to one in both. */
static void take(uint64_t lane[LANES], const uint8_t *at) {
    uint64_t word[LANES];
    memcpy(word, at, sizeof word);
    for (unsigned i = 0; i < LANES; i++) lane[i] = turned(lane[i] ^ word[i], 29) * ODD;
}

void ip_digest(const uint8_t *data, size_t n, uint64_t out[2]) {
    uint64_t lane[LANES] = {1, 2, 3, 4};
    size_t done = 0;
    for (; n - done >= sizeof lane; done += sizeof lane) take(lane, data + done);
    uint8_t rest[sizeof lane] = {0};
    memcpy(rest, data + done, n - done);
    take(lane, rest);
    out[0] = mixed(lane[0]) + turned(mixed(lane[1]), 17) + turned(mixed(lane[2]), 31) + turned(mixed(lane[3]), 47) + n;
    out[1] = 0;
    for (unsigned i = 0; i < LANES; i++) out[1] = mixed(out[1] + ODD + lane[i]);
}
