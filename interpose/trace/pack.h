/* Records (abi/trace.h) packed for a file: about a tenth of their size.
 *
 * Runs follow one another as before, and registers change as before: each template remembers which one came next, and
 * each of its words what it was and how much it had changed.  What these predict takes a bit or, where all of it is
 * right, nothing but its place in a count.  The stream is a sequence of
 *   0x80 | n       n runs of which everything was predicted, all instructions completed
 *   flags          a run: offset of the template / 8 unless PK_NEXT, instructions completed unless PK_FULL, and if
 *                  PK_SOME a bitmap of the words that were not predicted and of each of these the difference to what it
 *                  was, its sign in bit 0; all three by pk_number
 *   PK_EVENT       an event: its words as they are
 * Both sides keep the same state; the writer is the program's thread, the reader any process with the templates.
 */
#ifndef INTERPOSE_TRACE_PACK_H
#define INTERPOSE_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/trace.h"

enum { PK_NEXT = 1, PK_FULL = 2, PK_SOME = 4, PK_EVENT = 0x40, PK_RUNS = 0x80 };

/* Zero at first. */
struct pk_word {
    uint64_t value, step;
};
struct pk_state {
    const uint8_t *templates; /* the first one */
    struct pk_word *words;    /* of all templates, by ip_tr_block.first_word */
    uint32_t *next;           /* of each template, by number: offset + 8 of the one that came next */
    uint32_t last;            /* offset + 8 of the newest run's template, 0 none */
    uint32_t runs;            /* writer: predicted ones that are not written yet */
};

/* At most so many bytes for n words of records, with what the packer still holds. */
static inline size_t pk_bound(size_t n_words) { return n_words * 12 + 32; }

static inline const struct ip_tr_block *pk_template(const struct pk_state *p, uint32_t offset) {
    return (const struct ip_tr_block *)(const void *)(p->templates + offset);
}

/* A number of up to 64 bits in 1 to 9 bytes; the first byte's trailing zeros say how many more there are.  Writes 9. */
static inline uint8_t *pk_number(uint8_t *to, uint64_t v) {
    unsigned bits = 64 - (unsigned)__builtin_clzll(v | 1), n = (bits + 6) / 7;
    if (n > 8) {
        *to = 0;
        __builtin_memcpy(to + 1, &v, 8);
        return to + 9;
    }
    v = v << n | 1ull << (n - 1);
    __builtin_memcpy(to, &v, 8);
    return to + n;
}

static inline uint8_t *pk_flush(struct pk_state *p, uint8_t *to) {
    if (p->runs) *to++ = (uint8_t)(PK_RUNS | p->runs);
    p->runs = 0;
    return to;
}

/* A run of which something was not predicted. */
static inline uint8_t *pk_run(struct pk_state *p, const struct ip_tr_block *t, struct pk_word *w, uint32_t done,
                              bool next, uint64_t missed, const uint64_t *change, uint8_t *to) {
    bool full = done == t->n_insns;
    to = pk_flush(p, to);
    *to++ = (uint8_t)((next ? PK_NEXT : 0) | (full ? PK_FULL : 0) | (missed ? PK_SOME : 0));
    if (!next) to = pk_number(to, (uint32_t)((const uint8_t *)t - p->templates) / 8);
    if (!full) to = pk_number(to, done);
    if (!missed) return to;
    __builtin_memcpy(to, &missed, 8);
    to += (t->n_words + 7) / 8;
    for (; missed; missed &= missed - 1) {
        unsigned i = (unsigned)__builtin_ctzll(missed);
        uint64_t d = w[i].step = change[i];
        to = pk_number(to, d << 1 ^ (uint64_t)((int64_t)d >> 63));
    }
    return to;
}

static inline uint8_t *pk_event(struct pk_state *p, const uint64_t *record, uint8_t *to) {
    uint32_t n = 1 + (uint32_t)(*record >> 32);
    to = pk_flush(p, to);
    *to++ = PK_EVENT;
    const uint8_t *from = (const uint8_t *)record;
    for (uint32_t i = 0; i < 8 * n; i++) *to++ = from[i];
    return to;
}

/* Records [from, to) to out, which has pk_bound(to - from) bytes; where it ends.  What the last runs were is in the
 * state until something else comes, or pk_flush.  base: client address of the first template. */
static inline uint8_t *pk_pack(struct pk_state *p, const uint64_t *from, const uint64_t *to, uint32_t base,
                               uint8_t *out) {
    uint32_t none = 0, *following = p->last ? &p->next[pk_template(p, p->last - 8)->number] : &none;
    while (from < to) {
        const uint64_t *record = from;
        uint32_t low = (uint32_t)*record, done = (uint32_t)(*record >> 32), here = low - base + 8;
        if (__builtin_expect(low < IP_TR_EVENTS, 0)) {
            out = pk_event(p, record, out);
            from += 1 + done;
            continue;
        }
        const struct ip_tr_block *t = pk_template(p, low - base);
        struct pk_word *w = p->words + t->first_word;
        uint32_t n = t->n_words;
        uint64_t missed = 0, change[IP_TR_MAX_WORDS];
        bool next = *following == here;
        from += 1 + n;
        *following = p->last = here;
        following = &p->next[t->number];
        for (uint32_t i = 0; i < n; i++) {
            uint64_t value = record[1 + i], d = change[i] = value - w[i].value;
            w[i].value = value;
            missed |= (uint64_t)(d != w[i].step) << i;
        }
        if (__builtin_expect(next & (done == t->n_insns) & !missed, 1)) {
            if (++p->runs == 127) out = pk_flush(p, out);
        } else {
            out = pk_run(p, t, w, done, next, missed, change, out);
        }
    }
    return out;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct pk_reader {
    struct pk_state state;
    const uint8_t *at, *end;
    uint32_t n_templates, template_bytes; /* what may be named */
    uint32_t n_words;                     /* of state.words */
    const char *wrong;                    /* why pk_read has ended, NULL: the end */
};

static inline bool pk_refuse(struct pk_reader *r, const char *why) {
    r->wrong = why;
    return false;
}

static inline bool pk_get(struct pk_reader *r, uint64_t *v) {
    uint8_t bytes[16] = {0};
    size_t left = (size_t)(r->end - r->at);
    __builtin_memcpy(bytes, r->at, left < 9 ? left : 9);
    unsigned n = bytes[0] ? (unsigned)__builtin_ctz(bytes[0]) + 1 : 9;
    if (n > left) return pk_refuse(r, "it ends in a record");
    __builtin_memcpy(v, bytes + (n > 8), 8);
    if (n < 8) *v &= (1ull << 8 * n) - 1;
    if (n < 9) *v >>= n;
    r->at += n;
    return true;
}

/* Is there a whole template?  Their file may be damaged, too. */
static inline bool pk_is_template(const struct pk_reader *r, uint64_t offset) {
    if (offset > r->template_bytes || r->template_bytes - offset < sizeof(struct ip_tr_block)) return false;
    const struct ip_tr_block *t = pk_template(&r->state, (uint32_t)offset);
    uint64_t bytes = sizeof *t + t->n_insns * sizeof(struct ip_tr_insn) + t->n_accesses * sizeof(struct ip_tr_access);
    return t->n_words <= IP_TR_MAX_WORDS && t->number < r->n_templates && t->bytes == bytes &&
           bytes <= r->template_bytes - offset && t->n_insns && (uint64_t)t->first_word + t->n_words <= r->n_words;
}

/* The next record: of a run, its template, the number of completed instructions, its words; of an event, template NULL,
 * its kind in done, its words.  words has room for 4096.  false: the end, or r->wrong. */
static inline bool pk_read(struct pk_reader *r, const struct ip_tr_block **block, uint32_t *done, uint64_t *words,
                           uint32_t *n_words) {
    struct pk_state *p = &r->state;
    unsigned flags = PK_NEXT | PK_FULL;
    if (!p->runs) {
        if (r->at == r->end) return false;
        flags = *r->at++;
        if (flags & PK_RUNS) {
            p->runs = flags & 0x7f;
            flags = PK_NEXT | PK_FULL;
            if (!p->runs) return pk_refuse(r, "a count of no runs");
        } else if (flags == PK_EVENT) {
            if (r->end - r->at < 8) return pk_refuse(r, "it ends in a record");
            uint64_t head;
            __builtin_memcpy(&head, r->at, 8);
            uint64_t n = head >> 32;
            if ((uint32_t)head >= IP_TR_EVENTS || n > 4000) return pk_refuse(r, "no event");
            if ((uint64_t)(r->end - r->at) < 8 + 8 * n) return pk_refuse(r, "it ends in a record");
            __builtin_memcpy(words, r->at + 8, 8 * n);
            r->at += 8 + 8 * n;
            *block = NULL;
            *done = (uint32_t)head;
            *n_words = (uint32_t)n;
            return true;
        } else if (flags & ~(unsigned)(PK_NEXT | PK_FULL | PK_SOME)) {
            return pk_refuse(r, "no record");
        }
    }
    const struct ip_tr_block *last = p->last ? pk_template(p, p->last - 8) : NULL;
    uint64_t offset, completed;
    if (flags & PK_NEXT) {
        if (!last || !p->next[last->number]) return pk_refuse(r, "a run after none");
        offset = p->next[last->number] - 8;
    } else {
        if (!pk_get(r, &offset)) return false;
        offset = offset > UINT32_MAX / 8 ? UINT32_MAX : offset * 8;
        if (!pk_is_template(r, offset)) return pk_refuse(r, "a run of a block that is not known");
    }
    const struct ip_tr_block *t = pk_template(p, (uint32_t)offset);
    completed = t->n_insns;
    if (!(flags & PK_FULL) && !pk_get(r, &completed)) return false;
    if (completed > t->n_insns) return pk_refuse(r, "more instructions than the block has");
    struct pk_word *w = p->words + t->first_word;
    uint32_t n = t->n_words;
    uint64_t missed = 0;
    if (flags & PK_SOME) {
        if ((uint64_t)(r->end - r->at) < (n + 7) / 8) return pk_refuse(r, "it ends in a record");
        __builtin_memcpy(&missed, r->at, (n + 7) / 8);
        r->at += (n + 7) / 8;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (missed >> i & 1) {
            uint64_t z;
            if (!pk_get(r, &z)) return false;
            w[i].step = z >> 1 ^ (0 - (z & 1));
        }
        words[i] = w[i].value += w[i].step;
    }
    if (last) p->next[last->number] = (uint32_t)offset + 8;
    p->last = (uint32_t)offset + 8;
    if (p->runs) p->runs--;
    *block = t;
    *done = (uint32_t)completed;
    *n_words = n;
    return true;
}

#endif
