/* Records (abi/trace.h) packed for a file: to a twentieth of their size.
 *
 * Runs follow one another as before, and registers are as before: a table has what came last after the runs before, and
 * each word of a template is remembered.  What is written is how much that is wrong, in as few bytes as that takes,
 * none where it is right.  How many bytes is written apart from the bytes: so the writer, which is the program's
 * thread, has one path for right and wrong guesses, and few branches that a CPU mispredicts.
 *
 * The stream is a sequence of frames: struct pk_frame, data, lengths.  Of a run the lengths are a byte, n in its low
 * three bits, and half a byte of each word that the completed instructions need, the first one low; the data n bytes of
 * (offset of the template / 8 << 8 | completed instructions) ^ guess, then of each word its difference from what it
 * was, of which the last byte has the sign.  The upper five bits of the first byte say how many runs come before it of
 * which all was guessed. n may be PK_EVENT: the data has the event's words as they are; PK_NOTHING: there is no run but
 * those before it. Both sides keep the same state; the reader is any process with the templates.
 */
#ifndef INTERPOSE_TRACE_PACK_H
#define INTERPOSE_TRACE_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi/trace.h"

#define PK_PATHS_LOG 13
#define PK_PATHS     (1 << PK_PATHS_LOG)
#define PK_MOST_RUNS 31 /* guessed ones in front of one byte */

enum { PK_EVENT = 5, PK_NOTHING = 6 };

/* Of templates: who reads them may be another build than that which made them. */
#define PK_LAYOUT                                                                                                      \
    ((uint64_t)sizeof(struct ip_tr_block) << 32 | sizeof(struct ip_tr_insn) << 16 | sizeof(struct ip_tr_access))

struct pk_frame {
    uint32_t data, lengths; /* bytes */
};

struct pk_state {             /* zero at first */
    const uint8_t *templates; /* the first one */
    uint64_t *words;          /* of all templates, by ip_tr_block.first_word */
    uint32_t *next;           /* PK_PATHS: what came last after a path */
    uint32_t path;            /* of the newest runs */
};

/* At most so many bytes for n words of records, and for what the packer lays out behind. */
static inline size_t pk_bound(size_t n_words) { return sizeof(struct pk_frame) + n_words * 9 + 48; }

static inline const struct ip_tr_block *pk_template(const struct pk_state *p, uint32_t offset) {
    return (const struct ip_tr_block *)(const void *)(p->templates + offset);
}

/* Instructions completed of a template at the offset, as one number: that is what is guessed. */
static inline uint32_t pk_key(uint32_t offset, uint32_t completed) { return offset << 5 | completed; }

/* Where in the table it is, after this path. */
static inline uint32_t pk_place(uint32_t path) { return path >> (32 - PK_PATHS_LOG); }

/* The path that the run makes of this one: the oldest runs are shifted out of it. */
static inline uint32_t pk_follow(uint32_t path, uint32_t key) { return (path << 7) + key * 0x9e3779b1u; }

/* Records [from, to) to out, which has pk_bound(to - from) bytes; where it ends.  base: client address of the first
 * template.  A CPU that runs what is traced has BMI2, so it has LZCNT, too. */
static inline __attribute__((target("bmi2,lzcnt"))) uint8_t *pk_pack(struct pk_state *p, const uint64_t *from,
                                                                     const uint64_t *to, uint32_t base, uint8_t *out) {
    uint8_t *data = out + sizeof(struct pk_frame), *const lengths = data + 8 * (to - from) + 16, *at = lengths;
    const uint8_t *templates = p->templates - base;
    uint64_t *words = p->words, runs = 0;
    uint32_t *next = p->next, path = p->path;
    while (from < to) {
        uint64_t head = *from;
        const uint64_t *value = ++from;
        if (__builtin_expect((uint32_t)head < IP_TR_EVENTS, 0)) {
            if (head == IP_TR_GAP && from < to && *from == IP_TR_GAP) continue;
            *at++ = (uint8_t)(PK_EVENT | runs << 3);
            runs = 0;
            for (from += head >> 32, value--; value < from; value++, data += 8) __builtin_memcpy(data, value, 8);
            continue;
        }
        uint32_t key = pk_key((uint32_t)head - base, (uint16_t)(head >> 32)), *guess = &next[pk_place(path)];
        uint32_t missed = key ^ *guess;
        const struct ip_tr_block *t = (const struct ip_tr_block *)(const void *)(templates + (uint32_t)head);
        uint64_t *was = words + t->first_word, n = (uint8_t)(head >> 48);
        uint64_t any = (39 - __builtin_ia32_lzcnt_u32(missed)) >> 3;
        from += head >> 56;
        *guess = key;
        path = pk_follow(path, key);
        __builtin_memcpy(data, &missed, 4);
        data += any;
        *at = (uint8_t)(any | runs << 3);
        uint8_t *behind = at + 1;
        while (n) {
            /* spared: half bytes, of how many of its 8 bytes each word needs none. */
            uint64_t few = n < 16 ? n : 16, spared = 0;
            for (uint64_t i = 0; i < few; i++) {
                uint64_t v = value[i], d = v - was[i];
                uint64_t none = __builtin_ia32_lzcnt_u64(d ^ d << 1) >> 3;
                was[i] = v;
                __builtin_memcpy(data + 8 * i, &d, 8);
                data -= none;
                spared |= none << 4 * i;
            }
            data += 8 * few;
            uint64_t all = (0x8888888888888888 >> (64 - 4 * few)) - spared;
            __builtin_memcpy(behind, &all, 8);
            any |= all;
            behind += (few + 1) / 2;
            if (__builtin_expect(n <= 16, 1)) break;
            value += few;
            was += few;
            n -= few;
        }
        uint64_t keep = 0 - (uint64_t)(any == 0 && runs != PK_MOST_RUNS);
        at += (behind - at) & (int64_t)~keep;
        runs = (runs + 1) & keep;
    }
    p->path = path;
    if (runs) *at++ = (uint8_t)(PK_NOTHING | runs << 3);
    struct pk_frame frame = {(uint32_t)(data - out - sizeof frame), (uint32_t)(at - lengths)};
    __builtin_memcpy(out, &frame, sizeof frame);
    for (const uint8_t *l = lengths; l < at; l += 8, data += 8) __builtin_memcpy(data, l, 8);
    return out + sizeof frame + frame.data + frame.lengths;
}

/* ---- Reading -------------------------------------------------------------------------------- */

struct pk_reader {
    struct pk_state state;
    const uint8_t *at, *end;                     /* what is not begun yet: whole frames */
    const uint8_t *data, *lengths, *end_lengths; /* of the frame under way; the data ends where its lengths began */
    const uint8_t *end_data;
    uint32_t runs, then;                  /* guessed ones that come, and n of what follows, PK_NOTHING none */
    uint32_t n_templates, template_bytes; /* what may be named */
    uint32_t n_words;                     /* of state.words */
    const char *wrong;                    /* why pk_read has ended, NULL: the end */
};

static inline bool pk_refuse(struct pk_reader *r, const char *why) {
    r->wrong = why;
    return false;
}

/* Is all that was begun read? */
static inline bool pk_between(const struct pk_reader *r) {
    return r->lengths == r->end_lengths && !r->runs && r->then == PK_NOTHING;
}

/* A number of n bytes. */
static inline bool pk_get(struct pk_reader *r, unsigned n, uint64_t *v) {
    if (n > 8 || n > (size_t)(r->end_data - r->data)) return pk_refuse(r, "it ends in a record");
    *v = 0;
    if (r->end_data - r->data >= 8) {
        __builtin_memcpy(v, r->data, 8);
        if (n < 8) *v &= (1ull << 8 * n) - 1;
    } else {
        __builtin_memcpy(v, r->data, n);
    }
    r->data += n;
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

static inline bool pk_frame(struct pk_reader *r) {
    struct pk_frame frame;
    size_t room = (size_t)(r->end - r->at);
    if (room < sizeof frame) return pk_refuse(r, "it ends in a record");
    __builtin_memcpy(&frame, r->at, sizeof frame);
    if ((uint64_t)frame.data + frame.lengths > room - sizeof frame) return pk_refuse(r, "it ends in a record");
    r->data = r->at + sizeof frame;
    r->lengths = r->end_data = r->data + frame.data;
    r->at = r->end_lengths = r->lengths + frame.lengths;
    return true;
}

static inline bool pk_event(struct pk_reader *r, uint32_t *kind, uint64_t *words, uint32_t *n_words) {
    uint64_t head;
    if (!pk_get(r, 8, &head)) return false;
    uint64_t n = head >> 32;
    if ((uint32_t)head >= IP_TR_EVENTS || n > 4000) return pk_refuse(r, "no event");
    for (uint64_t i = 0; i < n; i++)
        if (!pk_get(r, 8, &words[i])) return false;
    *kind = (uint32_t)head;
    *n_words = (uint32_t)n;
    return true;
}

/* A run whose lengths begin with n; guessed: it has none. */
static inline bool pk_run(struct pk_reader *r, bool guessed, unsigned n, const struct ip_tr_block **block,
                          uint32_t *done, uint64_t *words, uint32_t *n_words) {
    struct pk_state *p = &r->state;
    uint64_t missed = 0;
    if (!guessed && !pk_get(r, n, &missed)) return false;
    uint32_t *guess = &p->next[pk_place(p->path)], key = *guess ^ (uint32_t)missed, completed = (uint8_t)key, used = 0;
    if (!pk_is_template(r, key >> 8 << 3)) return pk_refuse(r, "a run of a block that is not known");
    const struct ip_tr_block *t = pk_template(p, key >> 8 << 3);
    if (completed > t->n_insns) return pk_refuse(r, "more instructions than the block has");
    if (completed) used = ((const struct ip_tr_insn *)(t + 1))[completed - 1].n_words;
    if (used > t->n_words) return pk_refuse(r, "more words than the block has");
    *guess = key;
    p->path = pk_follow(p->path, key);
    if (!guessed && (used + 1) / 2 > (size_t)(r->end_lengths - r->lengths)) return pk_refuse(r, "it ends in a record");
    uint64_t *was = p->words + t->first_word;
    for (uint32_t i = 0; i < used; i++) {
        uint64_t d = 0;
        unsigned length = guessed ? 0 : r->lengths[i / 2] >> (4 * (i & 1)) & 15;
        if (length) {
            if (!pk_get(r, length, &d)) return false;
            d = (uint64_t)((int64_t)(d << (64 - 8 * length)) >> (64 - 8 * length));
        }
        words[i] = was[i] += d;
    }
    if (!guessed) r->lengths += (used + 1) / 2;
    for (uint32_t i = used; i < t->n_words; i++) words[i] = 0;
    *block = t;
    *done = completed;
    *n_words = t->n_words;
    return true;
}

/* The next record: of a run, its template, the number of completed instructions, its words, zeros for those of other
 * instructions; of an event, template NULL, its kind in done, its words.  words has room for 4096.  false: the end, or
 * r->wrong. */
static inline bool pk_read(struct pk_reader *r, const struct ip_tr_block **block, uint32_t *done, uint64_t *words,
                           uint32_t *n_words) {
    while (pk_between(r)) {
        if (r->at == r->end || !pk_frame(r)) return false;
    }
    if (!r->runs && r->then == PK_NOTHING) {
        uint8_t first = *r->lengths++;
        r->runs = first >> 3;
        r->then = first & 7;
        if (r->then > PK_NOTHING || (r->then == PK_NOTHING && !r->runs)) return pk_refuse(r, "no record");
    }
    if (r->runs) {
        r->runs--;
        return pk_run(r, true, 0, block, done, words, n_words);
    }
    unsigned n = r->then;
    r->then = PK_NOTHING;
    if (n != PK_EVENT) return pk_run(r, false, n, block, done, words, n_words);
    *block = NULL;
    return pk_event(r, done, words, n_words);
}

#endif
