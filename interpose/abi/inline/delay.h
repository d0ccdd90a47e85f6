/* How long --delays has whoever comes by stand still.  Nanoseconds; 0 is not at all, 1 is to let others go first. */
#ifndef IP_DELAY_H
#define IP_DELAY_H
#include "abi/channel.h"
#include "abi/inline/ticks.h"

_Static_assert(IP_AT_END <= sizeof((struct ip_chan *)0)->delay_ms / sizeof(uint32_t), "a time for each place");

static inline uint64_t ip_delay_ns(const struct ip_chan *c, uint32_t at) {
    if (__builtin_expect(!c->delayed, 1)) return 0;
    if (c->delay_ms[at] || !c->delay_seed) return c->delay_ms[at] * 1000000ull;
    uint64_t x = c->delay_seed ^ ip_ticks() * 0x9e3779b97f4a7c15ull;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ull;
    x ^= x >> 32;
    /* Requests are many. */
    if ((at == IP_AT_REQUEST || at == IP_AT_ANSWERED || at == IP_AT_TRANSLATED) && x >> 32 & 63) return 0;
    switch (x & 15) {
    case 0: return (x >> 4 & 0xfffffff) + 1; /* up to 268 ms */
    case 1:
    case 2:
    case 3: return (x >> 4 & 0xffffff) + 1; /* up to 17 ms */
    case 4:
    case 5:
    case 6:
    case 7: return 1;
    default: return 0;
    }
}
#endif
