/* See leak_scan.h. */
#include "tools/memcheck/search/leak_scan.h"

#include <string.h>
#include <unistd.h>

/* Index of the last block that starts at or below addr, or -1. */
static int64_t block_at_or_below(const struct ip_range *blocks, size_t n, uint64_t addr) {
    size_t first = 0, last = n;
    while (first < last) {
        size_t mid = first + (last - first) / 2;
        if (blocks[mid].start <= addr)
            first = mid + 1;
        else
            last = mid;
    }
    return (int64_t)first - 1;
}

static int holds(const struct ip_range *block, uint64_t addr) { return addr < block->end || addr == block->start; }

size_t ip_scan_words(const uint64_t *words, size_t n, uint64_t base, const struct ip_range *sorted_blocks,
                     size_t nblocks, uint64_t lo, uint64_t hi, struct ip_hit *out, size_t max) {
    size_t found = 0;
    int64_t cursor = -2; /* holder candidate: words come in order of address */

    if (nblocks == 0 || hi < lo) return 0;
    for (size_t i = 0; i < n && found < max; i++) {
        uint64_t word = words[i];
        /* One compare for both ends.  hi itself may be the start of an empty block. */
        if (word - lo > hi - lo) continue;
        int64_t block = block_at_or_below(sorted_blocks, nblocks, word);
        if (block < 0 || !holds(&sorted_blocks[block], word)) continue;
        uint64_t where = base + 8 * i;
        if (cursor == -2) cursor = block_at_or_below(sorted_blocks, nblocks, where);
        while (cursor + 1 < (int64_t)nblocks && sorted_blocks[cursor + 1].start <= where) cursor++;
        struct ip_hit *hit = &out[found++];
        hit->where = where;
        hit->offset = word - sorted_blocks[block].start;
        hit->block = (uint32_t)block;
        hit->holder = cursor >= 0 && where < sorted_blocks[cursor].end ? (uint32_t)cursor : IP_NO_HOLDER;
    }
    return found;
}

/* The page of the client's memory that was looked at last. */
struct page {
    uint64_t first;
    int whole;
    uint8_t bytes[4096];
};

static const struct page NO_PAGE = {.first = 1}; /* none begins there */

static int read_word(int mem, struct page *page, uint64_t at, void *word) {
    uint64_t first = at & -(uint64_t)sizeof page->bytes, offset = at - first;
    if (first != page->first) {
        page->first = first;
        page->whole = pread(mem, page->bytes, sizeof page->bytes, (off_t)first) == sizeof page->bytes;
    }
    if (!page->whole || offset > sizeof page->bytes - 8) return pread(mem, word, 8, (off_t)at) == 8;
    memcpy(word, page->bytes + offset, 8);
    return 1;
}

void ip_valid_words(int mem, uint64_t shift, const uint64_t *addrs, size_t n, uint8_t *good) {
    struct page page = NO_PAGE;
    for (size_t i = 0; i < n; i++) {
        uint64_t word;
        good[i] = read_word(mem, &page, addrs[i] + shift, &word) && !word;
    }
}

void ip_read_words(int mem, const uint64_t *addrs, size_t n, uint64_t *words) {
    struct page page = NO_PAGE;
    for (size_t i = 0; i < n; i++)
        if (!read_word(mem, &page, addrs[i], &words[i])) words[i] = 0;
}
