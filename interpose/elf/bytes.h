/* Reading positions in sections of debug information: nothing is read beyond their end (DWARF 5, 7.4 to 7.6). */
#ifndef INTERPOSE_ELF_BYTES_H
#define INTERPOSE_ELF_BYTES_H

#include <stdint.h>
#include <string.h>

struct cursor {
    const uint8_t *at, *end;
    int failed; /* it wanted more than there is */
};

static inline uint64_t fixed(struct cursor *c, uint64_t bytes) {
    uint64_t value = 0;
    if (bytes > 8 || (uint64_t)(c->end - c->at) < bytes) {
        c->failed = 1;
        return 0;
    }
    memcpy(&value, c->at, bytes);
    c->at += bytes;
    return value;
}

static inline void skip(struct cursor *c, uint64_t bytes) {
    if ((uint64_t)(c->end - c->at) < bytes) {
        c->failed = 1;
        bytes = (uint64_t)(c->end - c->at);
    }
    c->at += bytes;
}

static inline uint64_t uleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        if (!(byte & 128)) return value;
    }
    c->failed = 1;
    return 0;
}

static inline int64_t sleb(struct cursor *c) {
    uint64_t value = 0;
    for (unsigned shift = 0; c->at < c->end; shift += 7) {
        uint8_t byte = *c->at++;
        if (shift < 64) value |= (uint64_t)(byte & 127) << shift;
        if (byte & 128) continue;
        if (byte & 64 && shift + 7 < 64) value |= ~0ull << (shift + 7);
        return (int64_t)value;
    }
    c->failed = 1;
    return 0;
}

static inline const char *string(struct cursor *c) {
    const char *s = (const char *)c->at;
    const uint8_t *zero = memchr(c->at, 0, (size_t)(c->end - c->at));
    if (!zero) {
        c->failed = 1;
        return "";
    }
    c->at = zero + 1;
    return s;
}

#endif
