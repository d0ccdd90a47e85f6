/* Recorded stack traces: each distinct one once, numbered by its place. */
#include "heap/heap.h"
#include "runtime/core/errors.h"

#define FRAMES_MAX 512
#define GUESSES    8192 /* a power of two */

static struct ip_ctx_table *table;
static u32 *buckets;
static u32 cap;
/* The number found last for a place of the stack with these newest callers: whether it is the same stack is faster to
 * see than which one it is. */
static u32 guesses[GUESSES];
/* Numbers of stacks of one frame, which those of undefined words on the stack are: by a hash of its address. */
struct heap_single heap_singles[HEAP_SINGLES];
const u64 *heap_ctx_outdated;

/* Six callers tell apart what libraries do for one another: openssl copies three contexts of a kind in a row, by the
 * same functions at the same depth. */
static u32 *guess_of(const struct tstate *ts) {
    const struct ip_csent *e = (const struct ip_csent *)ts->cs_top;
    u64 key = ts->pc ^ ts->gpr[IP_RSP] << 20;
    if (ts->cs_top >= ts->cs_base + 6 * sizeof *e && ts->cs_top < ts->cs_limit)
        key ^= e[0].retaddr << 1 ^ e[-1].retaddr << 8 ^ e[-2].retaddr << 15 ^ e[-3].retaddr << 22 ^
               e[-4].retaddr << 29 ^ e[-5].retaddr << 36;
    return &guesses[key * 0x9e3779b97f4a7c15ull >> 32 & (GUESSES - 1)];
}

static u32 hash_frames(const u64 *f, u32 n) {
    /* A sum of what does not wait for one another: every allocation comes here.  Each frame is mixed with its place
     * first: sums of plain products are the same for all stacks of a recursion that goes left and right equally
     * often, and at places that add up to the same. */
    const u64 odd = 0x9e3779b97f4a7c15ull;
    u64 h = n, place = odd;
    for (u32 i = 0; i < n; i++, place += odd) {
        u64 mixed = (f[i] ^ place) * 0xd6e8feb86659fd93ull;
        h += mixed ^ mixed >> 32;
    }
    h ^= h >> 32;
    return (u32)(h * odd >> 32);
}

static u64 *words_of(u32 ctx) { return (u64 *)table->chunks[ctx / IP_CTX_CHUNK_WORDS] + ctx % IP_CTX_CHUNK_WORDS; }

static u32 append(const u64 *frames, u32 n, u32 hash) {
    u64 at = table->used_words;
    if (at % IP_CTX_CHUNK_WORDS + n + 1 > IP_CTX_CHUNK_WORDS) at = RT_ROUND_UP(at, IP_CTX_CHUNK_WORDS);
    u64 chunk = at / IP_CTX_CHUNK_WORDS;
    if (chunk >= sizeof table->chunks / sizeof table->chunks[0]) return 0; /* 4 GiB of stacks: go on without */
    if (!table->chunks[chunk]) {
        table->chunks[chunk] = (u64)rt_pages(IP_CTX_CHUNK_WORDS * 8ull);
        table->n_chunks = (u32)chunk + 1;
    }
    u64 *w = words_of((u32)at);
    w[0] = n | (u64)hash << 32;
    for (u32 i = 0; i < n; i++) w[i + 1] = frames[i];
    table->used_words = at + n + 1;
    table->n_traces++;
    return (u32)at;
}

static void grow(void) {
    u32 old_cap = cap, *old = buckets;
    cap = old_cap ? old_cap * 2 : 16384;
    buckets = rt_pages(cap * sizeof *buckets);
    for (u32 i = 0; i < old_cap; i++) {
        if (!old[i]) continue;
        u32 k = (u32)(words_of(old[i])[0] >> 32) & (cap - 1);
        while (buckets[k]) k = (k + 1) & (cap - 1);
        buckets[k] = old[i];
    }
    if (old) rt_free_pages(old, old_cap * sizeof *old);
}

u32 heap_ctx(const u64 *frames, u32 n) {
    if (!n) return 0;
    if (!table) {
        table = rt_pages(sizeof *table);
        table->version = IP_ABI_VERSION;
        table->used_words = 1; /* number 0 means none */
        heap_ctx_outdated = &table->outdated;
        rt.chan->rt_symbols[IP_SYM_CTX_TABLE] = (u64)table;
    }
    if (table->outdated && cap) {
        table->outdated = 0;
        memset(buckets, 0, cap * sizeof *buckets);
        memset(guesses, 0, sizeof guesses);
        memset(heap_singles, 0, sizeof heap_singles);
    }
    if (table->n_traces * 2 >= cap) grow();
    u32 hash = hash_frames(frames, n);
    for (u32 k = hash & (cap - 1);; k = (k + 1) & (cap - 1)) {
        if (!buckets[k]) return buckets[k] = append(frames, n, hash);
        const u64 *w = words_of(buckets[k]);
        if (w[0] != (n | (u64)hash << 32)) continue;
        u32 i = 0;
        while (i < n && w[i + 1] == frames[i]) i++;
        if (i == n) return buckets[k];
    }
}

u32 heap_ctx_of(u64 pc) {
    struct heap_single *s = &heap_singles[(u32)(pc * 0x9e3779b97f4a7c15ull >> 32) & (HEAP_SINGLES - 1)];
    if (!s->ctx || s->pc != pc || table->outdated) {
        __atomic_store_n(&s->pc, 0, __ATOMIC_RELEASE); /* assembly looks at it unlocked, before and after the other */
        __atomic_store_n(&s->ctx, heap_ctx(&pc, 1), __ATOMIC_RELEASE);
        __atomic_store_n(&s->pc, pc, __ATOMIC_RELEASE);
    }
    return s->ctx;
}

static u64 most_frames(void) { return rt.chan->num_callers < FRAMES_MAX ? rt.chan->num_callers : FRAMES_MAX; }

static __attribute__((noinline)) u32 look_up(struct tstate *ts, u32 *guess) {
    u64 frames[FRAMES_MAX];
    return *guess = heap_ctx(frames, rt_stack_trace(ts, frames, (u32)most_frames()));
}

u32 heap_ctx_now(struct tstate *ts) {
    u32 *guess = guess_of(ts), found = *guess;
    if (rt_likely(found && !table->outdated)) {
        const u64 *w = words_of(found);
        if (rt_stack_is(ts, w + 1, (u32)w[0], (u32)most_frames())) return found;
    }
    return look_up(ts, guess);
}

/* ---- What stacks allocate and free ------------------------------------------------------- */

static u64 counts_used;

static struct ip_heap_count *count_of(u32 ctx) {
    u64 mask = heap_table->counts_cap - 1;
    struct ip_heap_count *all = (struct ip_heap_count *)heap_table->counts;
    for (u64 k = ctx * 0x9e3779b97f4a7c15ull >> 32 & mask;; k = (k + 1) & mask)
        if (!all[k].ctx || all[k].ctx == ctx) return &all[k];
}

void heap_add_up(u32 ctx, u64 bytes, bool freed) {
    if (!ctx) return;
    if (counts_used * 2 >= heap_table->counts_cap) {
        u64 old_cap = heap_table->counts_cap;
        struct ip_heap_count *old = (struct ip_heap_count *)heap_table->counts;
        heap_table->counts_cap = old_cap ? old_cap * 2 : 1024;
        heap_table->counts = (u64)rt_pages(heap_table->counts_cap * sizeof *old);
        for (u64 k = 0; k < old_cap; k++)
            if (old[k].ctx) *count_of((u32)old[k].ctx) = old[k];
        if (old) rt_free_pages(old, old_cap * sizeof *old);
    }
    struct ip_heap_count *c = count_of(ctx);
    counts_used += !c->ctx;
    c->ctx = ctx;
    *(freed ? &c->freed_bytes : &c->bytes) += bytes;
    *(freed ? &c->freed_blocks : &c->blocks) += 1;
}
