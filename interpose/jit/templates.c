/* Where templates lie (abi/trace.h), and the one that is there already. */
#include <string.h>

#include "abi/meta.h"
#include "abi/space.h"
#include "jit/trace.h"
#include "jit/ways.h"

_Static_assert(IP_TRACE_BASE + IP_TRACE_MAX == IP_CACHE_BASE + IP_CACHE_MAX, "templates end with the cache");
_Static_assert(IP_TRACE_MAX / (sizeof(struct ip_tr_block) + sizeof(struct ip_tr_insn)) < 1u << (KNOWN_MOST - 1),
               "the largest table is never more than half full");

static uint64_t mix(uint64_t h, const void *from) {
    uint64_t word;
    memcpy(&word, from, sizeof word);
    h = (h ^ word) * 0xff51afd7ed558ccdull;
    return h ^ h >> 32;
}

/* Without its number and first_word, in which alone a template differs from its second making.  Four sums, because each
 * word would wait for the one before if there were one. */
static uint32_t hash_of(const struct ip_tr_block *t) {
    struct ip_tr_block head = *t;
    uint64_t h[4] = {1, 2, 3, 4};
    head.number = head.first_word = 0;
    for (size_t i = 0; i < sizeof head / 8; i++) h[i % 4] = mix(h[i % 4], (const uint8_t *)&head + 8 * i);
    const uint8_t *at = (const uint8_t *)(t + 1), *end = (const uint8_t *)t + t->bytes;
    for (; end - at >= 32; at += 32)
        for (size_t k = 0; k < 4; k++) h[k] = mix(h[k], at + 8 * k);
    for (; at < end; at += 8) h[0] = mix(h[0], at);
    return (uint32_t)mix(mix(mix(h[0], &h[1]), &h[2]), &h[3]);
}

static bool same(const struct ip_tr_block *a, const struct ip_tr_block *b) {
    struct ip_tr_block head = *b;
    head.number = a->number;
    head.first_word = a->first_word;
    return memcmp(a, &head, sizeof head) == 0 && memcmp(a + 1, b + 1, a->bytes - sizeof head) == 0;
}

static void grow(struct tracing *t) {
    uint32_t level = t->known_level ? t->known_level + 1 : KNOWN_LEAST, mask = (1u << level) - 1;
    struct ip_tr_known *bigger = KNOWN_TABLE(t->known, level), *old = KNOWN_TABLE(t->known, t->known_level);
    for (uint32_t i = 0; i < 1u << t->known_level; i++) { /* at level 0 an empty one */
        if (!old[i].at) continue;
        uint32_t h = old[i].hash;
        while (bigger[h & mask].at) h++;
        bigger[h & mask] = old[i];
    }
    t->known_level = level; /* last: who does this may be killed, and others go on */
}

uint32_t ip_trace_keep(struct ip_tr_block *b) {
    struct tracing *t = tt_tracing();
    struct ip_meta *meta = t->meta;
    if (!t->area) return 0;
    if (!t->known_level || meta->trace_blocks >= 1u << (t->known_level - 1)) grow(t);
    struct ip_tr_known *known = KNOWN_TABLE(t->known, t->known_level);
    uint32_t hash = hash_of(b), h = hash, mask = (1u << t->known_level) - 1;
    for (; known[h & mask].at; h++) {
        const struct ip_tr_known *k = &known[h & mask];
        if (k->hash == hash && same((struct ip_tr_block *)(t->area + k->at - 1), b)) return IP_TRACE_BASE + k->at - 1;
    }
    if (meta->trace_used + b->bytes > IP_TRACE_MAX) {
        meta->trace_full = 1;
        return 0;
    }
    uint32_t off = meta->trace_used;
    b->number = meta->trace_blocks;
    b->first_word = meta->trace_words;
    meta->trace_words += b->n_words;
    memcpy(t->area + off, b, b->bytes);
    meta->trace_used += b->bytes;
    __atomic_store_n(&meta->trace_blocks, b->number + 1, __ATOMIC_RELEASE);
    known[h & mask] = (struct ip_tr_known){off + 1, hash};
    return IP_TRACE_BASE + off;
}
