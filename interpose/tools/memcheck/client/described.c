/* Blocks that the program describes (CREATE_BLOCK, DISCARD).  They are kept here, for some programs describe and
 * discard one for each object that they make; the supervisor reads them when it says what an address is.
 *
 * All under heap_lock: the stacks are the heap's.
 */
#include <linux/errno.h>

#include "heap/heap.h"
#include "interpose/memcheck_numbers.h"
#include "tools/memcheck/client/memcheck.h"

#define TEXT_MAX  65536 /* bytes of a description, and none of the NUL's */
#define SMALLEST  16
#define CLASSES   12 /* of the sizes of descriptions: each twice the one before */
#define SLAB      (1ull << 16)
#define FIRST     512
#define AT_ONCE   1024 /* bytes of a description that need no memory to be read into */
#define NO_BLOCK  (~0ull)
#define NOT_NAMED "(null)"

_Static_assert((SMALLEST << (CLASSES - 1)) * 2 == TEXT_MAX, "longer ones have pages of their own");

static struct mc_described_table *const table = &mc_root.described;
/* The numbers that were discarded, a binary heap: the lowest one is given again first, as by Valgrind. */
static u32 *discarded;
static u64 n_discarded, capacity;

static struct mc_described *block_at(u64 number) { return (struct mc_described *)table->at + number; }

/* ---- their descriptions --------------------------------------------------------------- */

static u64 *spare[CLASSES]; /* linked through their first words */
static u64 slab_at, slab_left;

static u32 class_of(u64 bytes) {
    u32 k = 0;
    while (k < CLASSES && bytes > (u64)SMALLEST << k) k++;
    return k;
}

static u64 text_new(const char *text, u64 bytes) {
    u32 k = class_of(bytes);
    u64 size = (u64)SMALLEST << k, at;
    if (k == CLASSES) {
        at = (u64)rt_pages(bytes);
    } else if (spare[k]) {
        at = (u64)spare[k];
        spare[k] = (u64 *)*spare[k];
    } else {
        if (slab_left < size) { /* what is left is lost, once for each 64 KiB */
            slab_at = (u64)rt_pages(SLAB);
            slab_left = SLAB;
        }
        at = slab_at;
        slab_at += size;
        slab_left -= size;
    }
    memcpy((void *)at, text, bytes);
    return at;
}

static void text_end(u64 at, u64 bytes) {
    u32 k = class_of(bytes);
    if (k == CLASSES) {
        rt_free_pages((void *)at, bytes);
        return;
    }
    *(u64 *)at = (u64)spare[k];
    spare[k] = (u64 *)at;
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
    *block_at(number) = (struct mc_described){
        .addr = addr, .size = size, .text = text_new(text, bytes), .text_bytes = (u32)bytes, .ctx = heap_ctx_now(ts)};
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
        text_end(b->text, b->text_bytes);
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
