/* The client's code bytes: copies of its pages, and for how long they hold. */
#include <string.h>

#include "jit/transtab.h"

#define CODE_READ 32 /* what stage 1 asks for: room for the longest marker */
#define WAYS      4u /* places for a unit */

/* Its copy, or the place whose use lies back farthest. */
static struct code_copy *copy_of(const struct code_copies *c, uint64_t at) {
    uint64_t number = at / c->unit;
    struct code_copy *set = c->of + ((uint32_t)(number ^ number >> 12) * WAYS & (c->n - 1)), *oldest = set;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (set[i].at == at) return &set[i];
        if (set[i].gen < oldest->gen) oldest = &set[i];
    }
    return oldest;
}

static void forget(const struct code_copies *all, uint64_t lo, uint64_t hi) {
    if (hi - lo < (uint64_t)all->n * all->unit) {
        for (uint64_t at = lo & -(uint64_t)all->unit; at < hi; at += all->unit) {
            struct code_copy *c = copy_of(all, at);
            if (c->at == at) c->valid = 0;
        }
    } else {
        memset(all->of, 0, all->n * sizeof *all->of);
    }
}

void tt_forget_code(struct transtab *t, uint64_t lo, uint64_t hi) {
    t->code_bytes_n = 0;
    forget(&t->copies, lo, hi);
    forget(&t->copies_here, lo, hi);
}

bool tt_in_ranges(const struct tt_ranges *r, uint64_t at) {
    for (int i = 0; i < r->n; i++)
        if (at >= r->r[i].lo && at < r->r[i].hi) return true;
    return false;
}

void tt_ranges_add(struct tt_ranges *r, uint64_t lo, uint64_t hi) {
    if (lo >= hi || r->n == TT_RANGES) return;
    r->r[r->n].lo = lo;
    r->r[r->n++].hi = hi;
}

void tt_ranges_del(struct tt_ranges *r, uint64_t lo, uint64_t hi) {
    for (int i = 0; i < r->n;) {
        uint64_t a = r->r[i].lo, b = r->r[i].hi;
        if (a >= hi || b <= lo) {
            i++;
            continue;
        }
        r->r[i] = r->r[--r->n];
        /* What remains on either side comes after i or at the end: seen again, not cut again. */
        tt_ranges_add(r, a, lo);
        tt_ranges_add(r, hi, b);
    }
}

bool tt_is_stable(const struct transtab *t, uint64_t page) { return tt_in_ranges(&t->stable, page); }

/* The client's bytes at pc, and how many follow there, or NULL.  A copy is trusted within one request, or as long as
 * the page has translations (it is write-protected then), or when it belongs to a mapping that cannot change. */
static const uint8_t *bytes_at(struct transtab *t, uint64_t pc, uint32_t *left) {
    if (pc - t->code_at < t->code_bytes_n && t->code_gen == t->req_gen) {
        *left = t->code_bytes_n - (uint32_t)(pc - t->code_at);
        return t->code_bytes + (pc - t->code_at);
    }
    const struct code_copies *all = tt_code_copies(t);
    uint64_t at = pc & -(uint64_t)all->unit, page = pc & ~4095ull;
    struct code_copy *c = copy_of(all, at);
    uint8_t *bytes = all->bytes + (size_t)(c - all->of) * all->unit;
    if (c->at != at || !c->valid ||
        (c->gen != t->req_gen && !tt_is_watched(t, page) && (tt_is_checked(t, page) || !tt_is_stable(t, page)))) {
        c->at = at;
        c->valid = tt_peek(t, at, bytes, (int)all->unit);
    }
    c->gen = t->req_gen;
    t->code_bytes_n = c->valid ? all->unit : 0;
    if (!c->valid) return NULL;
    t->code_at = at;
    t->code_gen = t->req_gen;
    t->code_bytes = bytes;
    *left = all->unit - (uint32_t)(pc - at);
    return bytes + (pc - at);
}

int tt_read(void *ctx, uint64_t pc, uint8_t *buf, int n) {
    struct transtab *t = ctx;
    for (int done = 0; done < n;) {
        uint64_t at = pc + (uint64_t)done;
        uint32_t take;
        if (at < t->exec_lo || at >= t->exec_hi) return done; /* no fetch from there */
        const uint8_t *bytes = bytes_at(t, at, &take);
        if (!bytes) return done;
        if (n == CODE_READ && take >= CODE_READ && done == 0) { /* nearly always, and then it is two moves */
            memcpy(buf, bytes, CODE_READ);
            return n;
        }
        if (take > (uint32_t)(n - done)) take = (uint32_t)(n - done);
        memcpy(buf + done, bytes, take);
        done += (int)take;
        /* Do not read the next page for an instruction that ends in this one. */
        if (done >= 20 && !((pc + (uint64_t)done) & 4095)) return done;
    }
    return n;
}

bool tt_code_bytes(struct transtab *t, uint64_t pc, uint32_t n, uint8_t *out) {
    for (uint32_t done = 0, take; done < n; done += take) {
        const uint8_t *bytes = bytes_at(t, pc + done, &take);
        if (!bytes) return false;
        if (take > n - done) take = n - done;
        memcpy(out + done, bytes, take);
    }
    return true;
}

bool tt_same_bytes(struct transtab *t, uint64_t pc, uint32_t n, const uint8_t *bytes) {
    for (uint32_t done = 0, take; done < n; done += take) {
        const uint8_t *now = bytes_at(t, pc + done, &take);
        if (!now) return false;
        if (take > n - done) take = n - done;
        if (memcmp(bytes + done, now, take) != 0) return false;
    }
    return true;
}
