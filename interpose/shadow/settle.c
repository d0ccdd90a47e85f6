/* V pages that have become zero throughout are given back.
 *
 * A large block is undefined when it is born, by pages that are shared (shadow_map.c); the program's first store to
 * each of them makes a copy.  Most blocks are filled from end to end, and then all these copies hold zero, which a page
 * that was never touched holds, too.  So whenever stores come to the end of a chunk, and nothing in it is undefined any
 * more, fresh pages take the place of the old ones.  What the shadow holds is the same afterwards.
 *
 * Only in ranges that are exchanged as a whole when their block ends: in others the pages would soon be wanted again.
 * Only while there is one thread: between the look and the exchange another one might copy undefined bytes there.
 */
#include "shadow/shadow.h"

#define NR_mmap                          9
#define PROT_RW                          3
#define MAP_PRIVATE_ANON_NORESERVE_FIXED 0x4032

/* Places of ranges; the oldest makes room. */
#define RANGES 64
/* The kernel counts mappings (vm.max_map_count), and each piece between others may be one. */
#define PIECES_MOST 4096

_Static_assert(SH_CHUNK == 0x40000 && IP_V_CONST % SH_CHUNK == 0x15840, "slow_entry.S");

static struct range {
    u64 lo, hi;
    u32 pieces; /* that chunks of it have made */
} ranges[RANGES];
static u32 next_place, n_pieces;
static u64 last_end;

void sh_forget_large(u64 lo, u64 hi) {
    for (struct range *r = ranges; r < ranges + RANGES; r++) {
        if (r->lo >= hi || r->hi <= lo) continue;
        n_pieces -= r->pieces;
        *r = (struct range){0, 0, 0};
    }
}

void sh_note_large(u64 lo, u64 hi) {
    sh_forget_large(lo, hi);
    struct range *r = &ranges[next_place++ % RANGES];
    n_pieces -= r->pieces;
    *r = (struct range){lo, hi, 0};
}

static struct range *find(u64 chunk) {
    for (struct range *r = ranges; r < ranges + RANGES; r++)
        if (r->lo <= chunk && chunk + SH_CHUNK <= r->hi) return r;
    return NULL;
}

bool sh_is_large(u64 addr) { return find(RT_ROUND_DOWN(sh_v(addr), SH_CHUNK)); }

bool sh_exchange(u64 chunk) {
    struct range *r = rt_alone ? find(chunk) : NULL;
    if (!r) return false;
    if (chunk != last_end) {
        if (n_pieces >= PIECES_MOST) return false;
        n_pieces++;
        r->pieces++;
    }
    long at = sys6(NR_mmap, (long)chunk, SH_CHUNK, PROT_RW, MAP_PRIVATE_ANON_NORESERVE_FIXED, -1, 0);
    if (at != (long)chunk) return false; /* too many mappings */
    last_end = chunk + SH_CHUNK;
    return true;
}

void sh_settled(u64 addr, u64 len) {
    u64 end = sh_v(addr + len);
    for (u64 chunk = RT_ROUND_DOWN(sh_v(addr), SH_CHUNK); chunk + SH_CHUNK <= end; chunk += SH_CHUNK)
        if (find(chunk) && sh_is_zero(chunk, chunk + SH_CHUNK)) (void)sh_exchange(chunk);
}
