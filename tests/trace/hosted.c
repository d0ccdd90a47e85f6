/* interpose/trace/pack.h in an ordinary process. */
#include "trace/pack.h"

_Static_assert(sizeof(struct ip_tr_block) == 88 && sizeof(struct ip_tr_insn) == 48, "test_pack.py lays templates out");

size_t bound(size_t n) { return pk_bound(n); }

size_t pack(struct pk_state *p, const uint64_t *from, size_t n, uint32_t base, uint8_t *out) {
    return (size_t)(pk_pack(p, from, from + n, base, out) - out);
}

/* All of it as records again; how many words, or -1: refused. */
long unpack(struct pk_reader *r, uint32_t base, uint64_t *out, size_t room) {
    const struct ip_tr_block *b;
    uint64_t words[4096];
    uint32_t done, n;
    size_t at = 0;
    r->then = PK_NOTHING;
    while (pk_read(r, &b, &done, words, &n)) {
        if (at + 1 + n > room) return -2;
        uint64_t used = b && done ? ((const struct ip_tr_insn *)(b + 1))[done - 1].n_words : 0;
        out[at++] = b ? (uint64_t)n << 56 | used << 48 | (uint64_t)done << 32 |
                            (uint32_t)((const uint8_t *)b - r->state.templates + base)
                      : (uint64_t)n << 32 | done;
        for (uint32_t i = 0; i < n; i++) out[at++] = words[i];
    }
    return r->wrong ? -1 : (long)at;
}
