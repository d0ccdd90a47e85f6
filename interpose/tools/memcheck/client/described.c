/* Blocks that the program describes (CREATE_BLOCK, DISCARD).  They are kept here, for some programs describe and
 * discard one for each object that they make; the supervisor reads them when it says what an address is.
 *
 * All under heap_lock: the stacks are the heap's.
 */
#include <linux/errno.h>

#include "heap/heap.h"
#include "interpose/memcheck_numbers.h"
#include "tools/memcheck/client/memcheck.h"

#define TEXT_MAX  65536u /* bytes of a description, and none of the NUL's */
#define SMALLEST  16     /* of the rooms that they have, each twice the one before */
#define SLAB      (4ull * TEXT_MAX)
#define FIRST     512
#define AT_ONCE   1024 /* bytes of a description that need no memory to be read into */
#define NO_BLOCK  (~0ull)
#define NOT_NAMED "(null)"

static struct mc_described_table *const table = &mc_root.described;
/* The numbers that were discarded, a binary heap: the lowest one is given again first, as by Valgrind. */
static u32 *discarded;
static u64 n_discarded, capacity;

static struct mc_described *block_at(u64 number) { return (struct mc_described *)table->at + number; }

/* ---- their descriptions --------------------------------------------------------------- */

/* A number keeps its room, for who has it next most likely calls its block something like it.  Room that was outgrown
 * is lost: all of it together is less than what there is now. */
static void set_text(struct mc_described *b, const char *text, u64 bytes) {
    static u64 slab, left;
    if (bytes > b->room) {
        b->room = b->room ? b->room : SMALLEST;
        while (b->room < bytes) b->room *= 2;
        if (left < b->room) {
            slab = (u64)rt_pages(SLAB);
            left = SLAB;
        }
        b->text = slab;
        slab += b->room;
        left -= b->room;
    }
    b->text_bytes = (u32)bytes;
    memcpy((void *)b->text, text, bytes);
}

/* ---- their numbers -------------------------------------------------------------------- */

static void *grown(void *old, u64 size) {
    void *room = rt_pages(2 * size);
    memcpy(room, old, size);
    rt_free_pages(old, size);
    return room;
}

static void make_room(void) {
    if (table->count < capacity) return;
    if (!capacity) {
        capacity = FIRST;
        table->at = (u64)rt_pages(FIRST * sizeof(struct mc_described));
        discarded = rt_pages(FIRST * sizeof *discarded);
        return;
    }
    table->at = (u64)grown(block_at(0), capacity * sizeof(struct mc_described));
    discarded = grown(discarded, capacity * sizeof *discarded);
    capacity *= 2;
}

static u64 number_new(void) {
    if (!n_discarded) {
        make_room();
        return table->count++;
    }
    u32 lowest = discarded[0], last = discarded[--n_discarded];
    u64 at = 0;
    for (u64 below; (below = 2 * at + 1) < n_discarded; at = below) {
        if (below + 1 < n_discarded && discarded[below + 1] < discarded[below]) below++;
        if (discarded[below] >= last) break;
        discarded[at] = discarded[below];
    }
    discarded[at] = last;
    return lowest;
}

static void number_end(u32 number) {
    u64 at = n_discarded++;
    for (u64 above; at && discarded[above = (at - 1) / 2] > number; at = above) discarded[at] = discarded[above];
    discarded[at] = number;
}

/* ---- the requests --------------------------------------------------------------------- */

static u64 add(struct tstate *ts, u64 addr, u64 size, const char *text, u64 bytes) {
    heap_lock_all();
    u64 number = number_new();
    struct mc_described *b = block_at(number);
    set_text(b, text, bytes);
    b->addr = addr;
    b->ctx = heap_ctx_now(ts);
    b->size = size;
    rt_unlock(&heap_lock);
    return number;
}

static u64 create(struct tstate *ts, u64 addr, u64 size, u64 from) {
    char some[AT_ONCE];
    if (!addr || !size) return NO_BLOCK;
    if (!from) return add(ts, addr, size, NOT_NAMED, sizeof NOT_NAMED - 1);
    long n = rt_strncpy_from(some, from, sizeof some);
    if (n >= 0) return add(ts, addr, size, some, (u64)n);
    char *whole = rt_pages(TEXT_MAX);
    n = rt_strncpy_from(whole, from, TEXT_MAX);
    u64 number = add(ts, addr, size, whole, n >= 0 ? (u64)n : n == -ENAMETOOLONG ? TEXT_MAX : 0);
    rt_free_pages(whole, TEXT_MAX);
    return number;
}

static bool discard(u64 number) {
    heap_lock_all();
    struct mc_described *b = block_at(number);
    bool there = number < table->count && b->size;
    if (there) {
        b->size = 0;
        number_end((u32)number);
    }
    rt_unlock(&heap_lock);
    return there;
}

bool mc_described_request(struct tstate *ts, u64 code, const u64 a[5], u64 *result) {
    if (code == INTERPOSE_RQ_MC_CREATE_BLOCK)
        *result = create(ts, a[0], a[1], a[2]);
    else if (code == INTERPOSE_RQ_MC_DISCARD)
        *result = !discard(a[1]);
    else
        return false;
    return true;
}
