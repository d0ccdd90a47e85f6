/* Bindings in effect: a thunk for each, which notes the original and goes to the wrapper. */
#include "native/client/native.h"

#include <linux/mman.h>
#include <sys/syscall.h>

enum { THUNKS = 1024, POOLS = 64, PAGE = 4096, REMOVED = 1 };

__thread struct ip_native_thread ip_native_thread;

/* Where calls go: to the wrapper; in threads of the agent's, to the original. The third is where they go while nothing
 * is wrapped. These lie below 2 GiB, so that a thunk
 * can add a thread's word to their address in the jump itself: no instruction of it changes flags, which a replacement
 * may read. */
struct ways {
    uint64_t to[3];
};

/* Lies within 2 GiB of the function, so that five bytes of that can jump to it. */
struct ip_native_thunk {
    uint8_t note[10];  /* movabs $original, %r11 */
    uint8_t keep[9];   /* mov %r11, %fs:original */
    uint8_t passes[9]; /* mov %fs:passes, %r11 */
    uint8_t jump[7];   /* jmp *ways(%r11) */
    uint8_t fill[13];
};
/* The same for an entry of the hooks' stubs, which finds the original on the stack: a signal's handler may be wrapped
 * as well, and change the thread's word before the stub has it. No register changes. */
struct hook_thunk {
    uint8_t passes[9]; /* cmpl $0, %fs:passes */
    uint8_t branch[2]; /* jne pass */
    uint8_t low[5];    /* push $original */
    uint8_t high[8];   /* movl $original >> 32, 4(%rsp) */
    uint8_t jump[7];   /* jmp *ways */
    uint8_t drop[5];   /* lea 8(%rsp), %rsp: goes to the original after all, which is still on the stack */
    uint8_t pass[7];   /* jmp *ways+8 */
    uint8_t fill[5];
};
_Static_assert(sizeof(struct ip_native_thunk) == 48 && sizeof(struct hook_thunk) == 48,
               "an odd size would part instructions from their cache line");

const struct ip_native_setup *ip_native_setup;
struct ip_native_binding *ip_native_bindings;
uint32_t ip_native_bound;
static struct ip_native_original nothing[2];
struct ip_native_original *ip_native_originals = nothing;

static uint32_t room, used; /* bindings there is room for; entries of the table that are not empty */

/* ---- places ----------------------------------------------------------------------------------- */

static struct ways *new_ways(void) {
    static struct ways *next;
    static uint32_t left;
    if (!left) {
        next = ip_native_map(PAGE, PROT_READ | PROT_WRITE, MAP_32BIT);
        if (!next) return NULL;
        left = PAGE / sizeof *next;
    }
    left--;
    return next++;
}

/* Thunks that are not in use yet, in each of the neighbourhoods. */
static struct pool {
    struct ip_native_thunk *next;
    uint32_t left;
} pools[POOLS];

static int is_near(uint64_t a, uint64_t b) {
    const uint64_t most = (1ull << 31) - (1ull << 20);
    return a - b < most || b - a < most;
}

static void *map_near(uint64_t address) {
    const uint64_t step = 1ull << 20, size = THUNKS * sizeof(struct ip_native_thunk);
    for (uint64_t distance = step; distance < (1ull << 31) - 2 * step; distance += step) {
        for (int up = 0; up < 2; up++) {
            uint64_t wanted = (up ? address + distance : address - distance) & -step;
            if (wanted > 1ull << 47) continue;
            long got = sys6(SYS_mmap, (long)wanted, (long)size, PROT_READ | PROT_WRITE | PROT_EXEC,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
            if (got == (long)wanted) {
                ip_native_mapped((void *)got, size);
                return (void *)got;
            }
            if (got > 0) sys2(SYS_munmap, got, (long)size); /* a kernel that does not know the flag */
        }
    }
    return NULL;
}

static struct ip_native_thunk *new_thunk(uint64_t address) {
    struct pool *pool = pools;
    while (pool < pools + POOLS && pool->next && !(pool->left && is_near((uint64_t)pool->next, address))) pool++;
    if (pool == pools + POOLS) pool = pools; /* more neighbourhoods than anybody has: the rest of one is lost */
    if (!pool->left || !is_near((uint64_t)pool->next, address)) {
        pool->next = map_near(address);
        pool->left = pool->next ? THUNKS : 0;
        if (!pool->left) return NULL;
    }
    pool->left--;
    return pool->next++;
}

static void put(uint8_t *at, uint64_t value, int size) {
    for (int i = 0; i < size; i++) at[i] = (uint8_t)(value >> 8 * i);
}

static void write_hook_thunk(struct ip_native_thunk *place, const struct ways *ways, uint64_t address) {
    static const struct hook_thunk form = {
        .passes = {0x64, 0x83, 0x3c, 0x25},
        .branch = {0x75, sizeof form.low + sizeof form.high + sizeof form.jump + sizeof form.drop},
        .low = {0x68},
        .high = {0xc7, 0x44, 0x24, 4},
        .jump = {0xff, 0x24, 0x25},
        .drop = {0x48, 0x8d, 0x64, 0x24, 8},
        .pass = {0xff, 0x24, 0x25},
    };
    struct hook_thunk *thunk = (struct hook_thunk *)place;
    *thunk = form;
    put(thunk->passes + 4, (uint64_t)ip_native_offset(&ip_native_thread.passes), 4);
    put(thunk->low + 1, address, 4);
    put(thunk->high + 4, address >> 32, 4);
    put(thunk->jump + 3, (uint64_t)&ways->to[0], 4);
    put(thunk->pass + 3, (uint64_t)&ways->to[1], 4);
}

/* Where its first jump leads while it is not to lead to the wrapper. */
static uint64_t past_wrapper(struct ip_native_thunk *thunk, uint32_t wraps, uint64_t original) {
    return wraps == IP_NATIVE_HOOKS ? (uint64_t)((struct hook_thunk *)thunk)->drop : original;
}

static void write_thunk(struct ip_native_thunk *thunk, const struct ways *ways, const struct ip_native_claim *claim) {
    if (claim->wraps == IP_NATIVE_HOOKS) {
        write_hook_thunk(thunk, ways, claim->address);
        return;
    }
    static const struct ip_native_thunk form = {
        .note = {0x49, 0xbb},
        .keep = {0x64, 0x4c, 0x89, 0x1c, 0x25},
        .passes = {0x64, 0x4c, 0x8b, 0x1c, 0x25},
        .jump = {0x41, 0xff, 0xa3},
    };
    *thunk = form;
    put(thunk->note + 2, claim->wraps ? claim->address : 0, 8);
    put(thunk->keep + 5, (uint64_t)ip_native_offset(&ip_native_thread.original), 4);
    put(thunk->passes + 5, (uint64_t)ip_native_offset(&ip_native_thread.passes), 4);
    put(thunk->jump + 3, (uint64_t)ways, 4);
}

/* ---- the table of originals: read without a lock --------------------------------------------- */

static void enter(struct ip_native_original *table, const struct ip_native_binding *binding) {
    struct ip_native_original *entry = &table[1 + (binding->address >> 4 & table->address)];
    while (entry->address > REMOVED && entry->address != binding->address) entry++;
    entry->original = binding->original;
    __atomic_store_n(&entry->address, binding->address, __ATOMIC_RELEASE);
}

/* At least twice what is bound, and followed by as much again, so that no search has to begin anew. An old table stays:
 * somebody may be reading it. */
static int grow(uint32_t wanted) {
    uint64_t size = 64;
    while (size < 2ull * wanted) size *= 2;
    if (size <= ip_native_originals->address + 1 && used + wanted - ip_native_bound < size) return 1;
    struct ip_native_original *table = ip_native_map(2 * size * sizeof *table, PROT_READ | PROT_WRITE, 0);
    if (!table) return 0;
    table->address = size - 1;
    for (uint32_t i = 0; i < ip_native_bound; i++) enter(table, &ip_native_bindings[i]);
    used = ip_native_bound;
    __atomic_store_n(&ip_native_originals, table, __ATOMIC_RELEASE);
    return 1;
}

static int more_room(uint32_t count) {
    if (ip_native_bound + count > room) {
        uint32_t size = 256;
        while (size < ip_native_bound + count) size *= 2;
        struct ip_native_binding *rows = ip_native_map(size * sizeof *rows, PROT_READ | PROT_WRITE, 0);
        if (!rows) return 0;
        for (uint32_t i = 0; i < ip_native_bound; i++) rows[i] = ip_native_bindings[i];
        ip_native_bindings = rows;
        room = size;
    }
    return grow(ip_native_bound + count);
}

uint64_t ip_native_original(uint64_t address) {
    const struct ip_native_original *table = __atomic_load_n(&ip_native_originals, __ATOMIC_ACQUIRE);
    const struct ip_native_original *entry = &table[1 + (address >> 4 & table->address)];
    for (; entry->address; entry++)
        if (entry->address == address) return entry->original;
    return address;
}

/* ---- putting into effect ---------------------------------------------------------------------- */

enum { BATCH = 256 };

static void bind_batch(const struct ip_native_claim *claims, uint64_t *failed, uint32_t count) {
    static struct ip_native_item items[BATCH];
    static struct ways *ways[BATCH];
    static struct ip_native_thunk *thunks[BATCH];
    uint32_t asked = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct ip_native_thunk *thunk = new_thunk(claims[i].address);
        struct ways *own = new_ways();
        failed[i] = !thunk || !own;
        if (failed[i]) continue;
        own->to[0] = claims[i].target;
        write_thunk(thunk, own, &claims[i]);
        ways[asked] = own;
        thunks[asked] = thunk;
        items[asked++] = (struct ip_native_item){claims[i].address, (uint64_t)thunk, 0, 0, claims[i].cave};
    }
    ip_native_setup->bind(items, asked);
    asked = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (failed[i]) continue;
        struct ip_native_item *item = &items[asked];
        struct ways *own = ways[asked];
        struct ip_native_thunk *thunk = thunks[asked++];
        failed[i] = item->failed;
        if (item->failed) continue;
        own->to[1] = item->original;
        own->to[2] = past_wrapper(thunk, claims[i].wraps, item->original);
        struct ip_native_binding *binding = &ip_native_bindings[ip_native_bound++];
        *binding = (struct ip_native_binding){
            item->address, claims[i].target, item->original, own->to, claims[i].wraps, claims[i].room, claims[i].cave,
        };
        enter(ip_native_originals, binding);
        used++;
    }
    /* Only now does the interceptor write its jumps: whoever takes one finds the original. */
    ip_native_setup->flush();
}

void ip_native_bind(const struct ip_native_claim *claims, uint64_t *failed, uint32_t count) {
    if (!more_room(count)) {
        for (uint32_t i = 0; i < count; i++) failed[i] = 1;
        return;
    }
    for (uint32_t done = 0; done < count; done += BATCH)
        bind_batch(claims + done, failed + done, count - done < BATCH ? count - done : BATCH);
}

/* The interceptor writes the first instructions back. Where nothing is mapped any more it gets pages to write to; where
 * something else already is, it must not hear of it. */
static void take_back(uint64_t address, int gone) {
    enum { MOST_WRITTEN = 32 };
    uint64_t first = address & -(uint64_t)PAGE, end = (address + MOST_WRITTEN + PAGE - 1) & -(uint64_t)PAGE;
    if (gone) {
        long got = sys6(SYS_mmap, (long)first, (long)(end - first), PROT_READ | PROT_WRITE | PROT_EXEC,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != (long)first) return;
    }
    ip_native_setup->unbind(address);
    ip_native_setup->flush();
    if (gone) sys2(SYS_munmap, (long)first, (long)(end - first));
}

void ip_native_unbind(uint64_t address, int unmapped) {
    for (uint32_t i = 0; i < ip_native_bound; i++) {
        if (ip_native_bindings[i].address != address) continue;
        struct ip_native_binding gone = ip_native_bindings[i];
        take_back(address, unmapped);
        ip_native_bindings[i] = ip_native_bindings[--ip_native_bound];
        struct ip_native_original *entry = &ip_native_originals[1 + (address >> 4 & ip_native_originals->address)];
        for (; entry->address; entry++)
            if (entry->address == address) entry->address = REMOVED;
        /* A thread may stand in the thunk: it is not used again, and leads to the function itself. */
        __atomic_store_n(&gone.ways[1], address, __ATOMIC_RELEASE);
        gone.ways[0] = gone.wraps == IP_NATIVE_HOOKS ? gone.ways[2] : address;
        return;
    }
}

void ip_native_pause(int paused) {
    for (uint32_t i = 0; i < ip_native_bound; i++) {
        struct ip_native_binding *binding = &ip_native_bindings[i];
        uint64_t to = paused ? binding->ways[2] : binding->target;
        __atomic_store_n(&binding->ways[0], to, __ATOMIC_RELEASE);
    }
}

/* ---- markers ----------------------------------------------------------------------------------- */

void ip_native_rewrite(uint64_t address, uint64_t marker) {
    enum { SIZE = 19 };
    uint8_t code[SIZE];
    /* A direct call takes half the time of one through a register. */
    int64_t distance = (int64_t)((uint64_t)ip_native_call - (address + 5));
    if (marker == IP_NATIVE_NRADDR) { /* mov %fs:original, %rax, and a nop of ten bytes */
        static const uint8_t form[SIZE] = {0x64, 0x48, 0x8b, 0x04, 0x25, 0, 0, 0, 0, 0x66,
                                           0x2e, 0x0f, 0x1f, 0x84, 0,    0, 0, 0, 0};
        __builtin_memcpy(code, form, SIZE);
        put(code + 5, (uint64_t)ip_native_offset(&ip_native_thread.original), 4);
    } else if (distance == (int32_t)distance) { /* call ip_native_call, and nops of ten and four bytes */
        static const uint8_t form[SIZE] = {0xe8, 0, 0, 0, 0, 0x66, 0x2e, 0x0f, 0x1f, 0x84,
                                           0,    0, 0, 0, 0, 0x0f, 0x1f, 0x40, 0};
        __builtin_memcpy(code, form, SIZE);
        put(code + 1, (uint64_t)distance, 4);
    } else { /* movabs $ip_native_call, %r11; call *%r11, and a nop of six bytes */
        static const uint8_t form[SIZE] = {0x49, 0xbb, 0,    0,    0,    0,    0,    0, 0, 0,
                                           0x41, 0xff, 0xd3, 0x66, 0x0f, 0x1f, 0x44, 0, 0};
        __builtin_memcpy(code, form, SIZE);
        put(code + 2, (uint64_t)ip_native_call, 8);
    }
    uint64_t first = address & -(uint64_t)PAGE, end = (address + SIZE + PAGE - 1) & -(uint64_t)PAGE;
    if (sys3(SYS_mprotect, (long)first, (long)(end - first), PROT_READ | PROT_WRITE | PROT_EXEC) < 0) return;
    for (int i = 0; i < SIZE; i++) ((volatile uint8_t *)address)[i] = code[i];
    sys3(SYS_mprotect, (long)first, (long)(end - first), PROT_READ | PROT_EXEC);
}
