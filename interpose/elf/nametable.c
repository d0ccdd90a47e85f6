/* A table of names by what they are without their versions (nametable.h). */
#include "elf/nametable.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "jit/lastwords.h"

static uint32_t hash_of(const char *text, size_t n) {
    uint64_t h = n, word;
    for (; n >= sizeof word; n -= sizeof word, text += sizeof word) {
        memcpy(&word, text, sizeof word);
        h = (h ^ word) * 0x9e3779b97f4a7c15ull;
        h ^= h >> 32;
    }
    word = 0;
    memcpy(&word, text, n);
    h = (h ^ word) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 32);
}

/* Without its NUL and its version. */
static size_t bare_size(const struct ip_name_table *t, uint32_t i) {
    size_t n = t->begins[i + 1] - t->begins[i] - 1;
    const char *at = memchr(t->names + t->begins[i], '@', n);
    return at ? (size_t)(at - (t->names + t->begins[i])) : n;
}

void ip_name_table_fill(const char *names, uint64_t size, uint32_t count, struct ip_name_table *out) {
    uint32_t places = 16;
    while (places < count && places < 1u << 31) places *= 2;
    *out = (struct ip_name_table){.names = names, .count = count, .mask = places - 1};
    out->begins = ip_alloc((size_t)count + 1, sizeof *out->begins);
    out->first = ip_alloc(places, sizeof *out->first);
    out->next = ip_alloc((size_t)count + 1, sizeof *out->next);
    const char *at = names, *end = names + size;
    for (uint32_t i = 0; i < count; i++) {
        const char *nul = memchr(at, 0, (size_t)(end - at));
        at = nul ? nul + 1 : end;
        out->begins[i + 1] = (uint32_t)(at - names);
    }
    for (uint32_t i = count; i-- > 0;) {
        uint32_t *first = &out->first[hash_of(names + out->begins[i], bare_size(out, i)) & out->mask];
        out->next[i] = *first;
        *first = i + 1;
    }
}

uint32_t ip_name_table_find(const struct ip_name_table *t, const char *bare, uint64_t size, uint32_t *out,
                            uint32_t room) {
    uint32_t n = 0;
    for (uint32_t i = t->first[hash_of(bare, size) & t->mask]; i--; i = t->next[i]) {
        const char *name = t->names + t->begins[i];
        if (t->begins[i + 1] - t->begins[i] - 1 < size || memcmp(name, bare, size) != 0) continue;
        if (name[size] && name[size] != '@') continue;
        if (n < room) out[n] = i;
        n++;
    }
    return n;
}

void ip_name_table_free(struct ip_name_table *t) {
    free(t->begins);
    free(t->first);
    free(t->next);
    *t = (struct ip_name_table){0};
}
