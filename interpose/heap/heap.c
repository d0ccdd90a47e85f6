/* The replaced malloc family: what the stubs image asks for, run natively.
 *
 * The wording of errors and what counts as one follow docs/spec/output.md section 3.1 and
 * docs/spec/options.md sections 4 and 7.  Names of functions arrive as pointers into the
 * stubs image.
 */
#include "requests/requests.h"
#include "heap/heap.h"
#include "heap/heap_hooks.h"
#include "runtime/core/errors.h"

static bool ready; /* under heap_lock */

void heap_lock_all(void) {
    rt_lock(&heap_lock);
    if (!ready) {
        heap_pages_init();
        ready = true;
    }
}

void rt_heap_fork_lock(void) { heap_lock_all(); }
void rt_heap_fork_unlock(void) { rt_unlock(&heap_lock); }

void heap_take_trace(struct tstate *ts, struct heap_trace *t, u64 wanted) {
    u64 n = rt.chan->num_callers;
    if (n > sizeof t->frames / sizeof t->frames[0]) n = sizeof t->frames / sizeof t->frames[0];
    t->n = rt.flags & wanted ? rt_stack_trace(ts, t->frames, (u32)n) : 0;
}

struct ip_heap_block *heap_note_new(u32 index, u64 size, const struct heap_trace *t) {
    struct ip_heap_block *b = heap_block(index);
    b->alloc_ctx = rt.flags & IP_C_KEEP_ALLOC_STACK ? heap_ctx(t->frames, t->n) : 0;
    heap_table->allocs++;
    heap_table->bytes_allocated += size;
    heap_count(b->alloc_ctx, size, false);
    return b;
}

static void error_name(struct ip_error *e, u64 name) {
    long n = name ? rt_strncpy_from((char *)e->text, name, sizeof e->text - 1) : 0;
    e->text[n > 0 ? n : 0] = 0;
}

/* text = "function(argument)" */
static void fishy(struct tstate *ts, u64 name, const char *arg, u64 value) {
    struct ip_error *e = rt_error_begin(ts, IP_E_FISHY);
    error_name(e, name);
    size_t at = rt_strlen((char *)e->text);
    rt_snprintf((char *)e->text + at, sizeof e->text - at, "(%s)", arg);
    e->aux[0] = value;
    rt_error_end(ts, e);
}

static void bad_free(struct tstate *ts, int kind, u64 addr, u32 block) {
    struct ip_error *e = rt_error_begin(ts, kind);
    e->addr = addr;
    e->aux[2] = block;
    rt_error_end(ts, e);
}

/* Of a block the program may have taken access away, for good: what faults stays as it is. */
static void fill_payload(u64 addr, u64 n, i64 byte) {
    if (byte >= 0) rt_fill_to(addr, (u8)byte, n);
}

/* A block, addressable; undefined unless zero.  0: no memory. */
static u64 allocate(struct tstate *ts, u64 size, u64 align, int kind, bool zero) {
    struct heap_trace t;
    bool zeroed;
    heap_take_trace(ts, &t, IP_C_KEEP_ALLOC_STACK);
    heap_lock_all();
    u32 i = heap_block_new(size, align, kind, &zeroed);
    u64 addr = i ? heap_note_new(i, size, &t)->addr : 0;
    rt_unlock(&heap_lock);
    if (!addr) return 0;
    if (zero && !zeroed)
        fill_payload(addr, size, 0);
    else if (!zero)
        fill_payload(addr, size, rt.chan->malloc_fill);
    heap_hook_allocated(addr, size, zero);
    return addr;
}

/* The live block at addr: one that the program declared hides an allocated one that begins where it does. */
static u32 live_block(u64 addr) {
    u32 i = heap_custom_find(addr, false);
    return i ? i : heap_block_exact(addr);
}

void heap_set_with_red_zones(u64 addr, u64 size, u64 rz, int state) {
    u64 before = rz < addr ? rz : addr, room = ~(addr + size), after = rz < room ? rz : room;
    heap_hook_state(addr - before, before, RT_SH_NOACCESS);
    heap_hook_state(addr, size, state);
    heap_hook_state(addr + size, after, RT_SH_NOACCESS);
}

/* What a released block has become: nobody's. */
static void take_back(const struct ip_heap_block *b, u64 room, u64 rz) {
    u64 filled = b->size < room ? b->size : room; /* RESIZEINPLACE_BLOCK may have made it longer than it is */
    if (b->kind != IP_AK_CUSTOM) fill_payload(b->addr, filled, rt.chan->free_fill);
    if (b->kind == IP_AK_CUSTOM)
        heap_set_with_red_zones(b->addr, b->size, rz, RT_SH_NOACCESS);
    else if (b->size == filled)
        heap_hook_released(b->addr, b->size, heap_gives_back(b->addr, b->size));
    else
        heap_hook_state(b->addr, b->size, RT_SH_NOACCESS);
}

/* Release the block at addr; reports what is wrong with that.  rz: its red zones,
 * if the program declared it.  False: there is no such block. */
static bool release(struct tstate *ts, u64 addr, int kind, u64 rz) {
    struct heap_trace t;
    heap_take_trace(ts, &t, IP_C_KEEP_FREE_STACK);
    heap_lock_all();
    heap_table->frees++; /* invalid ones count too: docs/spec/output.md section 6 */
    u32 i = live_block(addr);
    if (!i) {
        rt_unlock(&heap_lock);
        bad_free(ts, IP_E_FREE, addr, 0);
        return false;
    }
    struct ip_heap_block *b = heap_block(i);
    if (b->kind != kind) { /* reported while the block is still described as live */
        rt_unlock(&heap_lock);
        bad_free(ts, IP_E_MISMATCH, addr, i);
        heap_lock_all();
        if (live_block(addr) != i) { /* another thread freed it meanwhile */
            rt_unlock(&heap_lock);
            return false;
        }
    }
    if (t.n) b->free_ctx = heap_ctx(t.frames, t.n);
    heap_count(b->free_ctx, b->size, true);
    if (b->kind == IP_AK_CUSTOM) heap_custom_find(addr, true);
    take_back(b, b->kind == IP_AK_CUSTOM ? 0 : heap_block_room(i), rz);
    heap_block_retire(i);
    if (heap_has_freed_much()) heap_freed_much();
    rt_unlock(&heap_lock);
    return true;
}

void heap_custom_release(u64 lo, u64 hi, const struct heap_trace *t) {
    for (u32 at = 0, i; (i = heap_custom_take(lo, hi, &at));) {
        if (t->n) heap_block(i)->free_ctx = heap_ctx(t->frames, t->n);
        heap_count(heap_block(i)->free_ctx, heap_block(i)->size, true);
        take_back(heap_block(i), 0, 0);
        heap_block_retire(i);
    }
}

static u64 reallocate(struct tstate *ts, u64 old, u64 size, u64 name) {
    if ((i64)size < 0) {
        fishy(ts, name, "size", size);
        return 0;
    }
    if (!old) return allocate(ts, size, 0, IP_AK_MALLOC, false);
    if (!size) {
        struct ip_error *e = rt_error_begin(ts, IP_E_REALLOC_ZERO);
        e->addr = old;
        error_name(e, name);
        rt_error_end(ts, e);
        if (!(rt.flags & IP_C_REALLOC_ZERO_KEEPS)) {
            release(ts, old, IP_AK_MALLOC, rt.chan->redzone);
            return 0;
        }
    }
    heap_lock_all();
    u32 i = live_block(old);
    u64 old_size = i ? heap_block(i)->size : 0;
    rt_unlock(&heap_lock);
    if (!i) {
        heap_lock_all();
        heap_table->allocs++; /* counted as tried: what the summary is compared with does so */
        heap_table->bytes_allocated += size;
        heap_table->frees++;
        rt_unlock(&heap_lock);
        bad_free(ts, IP_E_FREE, old, 0);
        return 0;
    }
    /* Always another place, so that stale pointers into the old one are seen. */
    u64 addr = allocate(ts, size, 0, IP_AK_MALLOC, false);
    if (!addr) return 0;
    u64 keep = size < old_size ? size : old_size;
    if (keep) {
        /* A block that the program declared may be anywhere. */
        if (heap_block(i)->kind != IP_AK_CUSTOM || heap_hook_may_access(ts, old, keep))
            heap_hook_moved(ts, addr, old, keep);
        u64 lo = 0, hi = 0;
        if (heap_block(i)->kind != IP_AK_CUSTOM) heap_move_pages(addr, old, keep, &lo, &hi);
        rt_copy_to(addr, (const void *)old, lo);
        rt_copy_to(addr + hi, (const void *)(old + hi), keep - hi);
    }
    release(ts, old, IP_AK_MALLOC, rt.chan->redzone);
    return addr;
}

/* size: shown by IP_E_SIZE_ALIGN only */
static void bad_alignment(struct tstate *ts, int kind, u64 align, u64 size, const char *why) {
    struct ip_error *e = rt_error_begin(ts, kind);
    rt_snprintf((char *)e->text, sizeof e->text, "%s", why);
    e->aux[0] = kind == IP_E_SIZE_ALIGN ? size : align;
    e->aux[1] = align;
    rt_error_end(ts, e);
}

static const char new_alignment[] = " (should be non-zero and a power of 2)",
                  c_alignment[] = " (should be a power of 2)";

/* The alignment MSGs are those of docs/spec/output.md section 3.1. */
static u64 aligned(struct tstate *ts, u64 align, u64 size, int kind, int how, u64 name) {
    const u64 too_great = 1ull << 40;
    bool power = align && !(align & (align - 1));
    switch (how) {
    case IP_AH_POSIX:
        if (!power || align % sizeof(void *)) {
            bad_alignment(ts, IP_E_ALIGN, align, size,
                          " (should be non-zero, a power of 2 and a multiple of sizeof(void*))");
            return IP_HR_REFUSED;
        }
        break;
    case IP_AH_ALIGNED_ALLOC:
        if (!power) {
            if (align) bad_alignment(ts, IP_E_ALIGN, align, size, c_alignment); /* of 0 Valgrind 3.27 says nothing */
            return IP_HR_REFUSED;
        }
        if (size % align) bad_alignment(ts, IP_E_SIZE_ALIGN, align, size, " (size should be a multiple of alignment)");
        break;
    case IP_AH_NEW:
        if (!power) {
            bad_alignment(ts, IP_E_ALIGN, align, size, new_alignment);
            return 0;
        }
        break;
    default: /* memalign: the C library takes the next power of two */
        if (!power) {
            bad_alignment(ts, IP_E_ALIGN, align, size, " (should be power of 2)");
            u64 up = 16;
            while (up < align && up <= too_great) up *= 2;
            align = up;
        }
    }
    if ((i64)size < 0) {
        fishy(ts, name, "size", size);
        return 0;
    }
    if (align > too_great) return 0;
    if (!size && how != IP_AH_NEW && how != IP_AH_PAGES) rt_error_end(ts, rt_error_begin(ts, IP_E_UNSAFE_ZERO));
    return allocate(ts, size, align, kind, false);
}

/* first, second: in the order of the message. */
static void mismatched(struct tstate *ts, int kind, const char *pair, u64 addr, u64 first, u64 second, u32 i) {
    struct ip_error *e = rt_error_begin(ts, kind);
    rt_snprintf((char *)e->text, sizeof e->text, "%s", pair);
    e->addr = addr;
    e->aux[0] = first;
    e->aux[1] = second;
    e->aux[2] = i;
    rt_error_end(ts, e);
}

/* delete with a size or alignment (the forms of C++14 and C++17), or without where new had one; C23's free_sized and
 * free_aligned_sized.  What is asked, of null too, and in which order, is Valgrind 3.27's, but that a size alone says
 * nothing of an alignment there. */
static void check_sized(struct tstate *ts, u64 addr, int kind, u64 size, u64 align) {
    static const char *const operators[] = {[IP_AK_NEW] = "new/delete", [IP_AK_NEW_ARRAY] = "new[]/delete[]"};
    bool is_c = kind == IP_AK_MALLOC, sized = size != IP_HR_UNSAID, takes = align != IP_HR_UNSAID;
    const char *pair = !is_c   ? operators[kind]
                       : takes ? "aligned_alloc/free_aligned_sized"
                               : "aligned_alloc/free_sized";
    heap_lock_all();
    u32 i = addr ? heap_block_exact(addr) : 0;
    struct ip_heap_block b = i ? *heap_block(i) : (struct ip_heap_block){0};
    rt_unlock(&heap_lock);
    u64 made = b.align_log2 ? 1ull << b.align_log2 : 0;
    bool odd = takes && ((!is_c && !align) || align & (align - 1));
    bool other_size = i && sized && size != b.size;
    bool other_alignment = i && (takes ? align != made : !is_c && (sized ? b.kind == kind && made > 16 : made));
    if (odd && (is_c || !sized)) bad_alignment(ts, IP_E_ALIGN, align, size, is_c ? c_alignment : new_alignment);
    if (is_c && takes && !odd && align && size % align)
        bad_alignment(ts, IP_E_SIZE_ALIGN, align, size, " (size should be a multiple of alignment)");
    if (other_size && !is_c) mismatched(ts, IP_E_SIZE_MISMATCH, pair, addr, size, b.size, i);
    if (other_alignment) mismatched(ts, IP_E_ALIGN_MISMATCH, pair, addr, made, align, i);
    if (other_size && is_c) mismatched(ts, IP_E_SIZE_MISMATCH, pair, addr, size, b.size, i);
    if (odd && !is_c && sized) bad_alignment(ts, IP_E_ALIGN, align, size, new_alignment);
}

u64 heap_fitting(u64 addr, u64 size) { return size < ~addr ? size : ~addr; }

void rt_heap_malloclike(struct tstate *ts, u64 addr, u64 size, u64 rz, bool zeroed) {
    struct heap_trace t;
    if (!addr) return;
    size = heap_fitting(addr, size);
    heap_take_trace(ts, &t, IP_C_KEEP_ALLOC_STACK);
    heap_lock_all();
    u32 i = heap_record_new(false);
    if (i) {
        *heap_block(i) = (struct ip_heap_block){.addr = addr, .size = size, .kind = IP_AK_CUSTOM, .state = IP_HB_LIVE};
        heap_custom_add(i);
        heap_note_new(i, size, &t);
        heap_table->live_blocks++;
        heap_table->live_bytes += size;
    }
    rt_unlock(&heap_lock);
    heap_set_with_red_zones(addr, size, (u32)rz, zeroed ? RT_SH_DEFINED : RT_SH_UNDEFINED);
}

bool rt_heap_freelike(struct tstate *ts, u64 addr, u64 rz) { return !addr || release(ts, addr, IP_AK_CUSTOM, (u32)rz); }

bool rt_heap_resize(struct tstate *ts, u64 addr, u64 old_size, u64 new_size, u64 rz) {
    if (!addr) return true;
    old_size = heap_fitting(addr, old_size);
    new_size = heap_fitting(addr, new_size);
    heap_lock_all();
    u32 i = live_block(addr);
    if (!i || heap_block(i)->size != old_size || !new_size) {
        rt_unlock(&heap_lock);
        bad_free(ts, IP_E_FREE, addr, i);
        return false;
    }
    heap_has_resized = true;
    heap_table->has_others = 1;
    heap_block(i)->size = new_size;
    heap_table->live_bytes += new_size - old_size;
    rt_unlock(&heap_lock);
    u64 least = old_size < new_size ? old_size : new_size;
    if (old_size != new_size) {
        u64 room = ~(addr + new_size), after = (u32)rz < room ? (u32)rz : room;
        heap_hook_state(addr + least, new_size - least, RT_SH_UNDEFINED);
        heap_hook_state(addr + new_size, old_size - least + after, RT_SH_NOACCESS);
    }
    return true;
}

/* A throwing operator new found no memory.  The stub must not be on the stack
 * when the exception passes (nobody can unwind it): the C++ library's throw
 * takes its place, as if the program had called that.  The stub's frame is the
 * newest on the call stack, and it has saved no register by then. */
static bool throw_bad_alloc(struct tstate *ts) {
    u64 throw = rt_find_function(ts, "_ZSt17__throw_bad_allocv");
    const struct ip_csent *e = (const struct ip_csent *)ts->cs_top;
    u64 slot = rt_return_slot(e), ret;
    if (!throw || rt_copy_from(&ret, slot, 8) < 0 || ret != e->retaddr || slot < ts->gpr[IP_RSP] ||
        slot - ts->gpr[IP_RSP] > 512)
        return false;
    rt_hook_stack_changed(ts, ts->gpr[IP_RSP], slot);
    ts->gpr[IP_RSP] = slot;
    ts->pc = throw;
    return true;
}

static void new_failed(struct tstate *ts, u64 name) {
    if (throw_bad_alloc(ts)) return;
    struct ip_slot *slot = rt_slot(ts);
    char text[200], fn[100];
    long k = rt_strncpy_from(fn, name, sizeof fn - 1);
    fn[k > 0 ? k : 0] = 0;
    int n =
        rt_snprintf(text, sizeof text, "%s failed and should throw an exception, but it cannot: aborting instead.", fn);
    memcpy(slot->data, text, (size_t)n + 1);
    slot->len = (u32)n;
    slot->a[0] = 0;
    rt_request_python(ts, IP_R_MESSAGE);
}

u64 rt_heap_request(struct tstate *ts, u64 code, const u64 a[5]) {
    switch (code) {
    case IP_HR_MALLOC: /* size, kind, name */
        if ((i64)a[0] < 0) {
            fishy(ts, a[2], "size", a[0]);
            return 0;
        }
        return allocate(ts, a[0], 0, (int)a[1], false);
    case IP_HR_CALLOC: { /* n, size, name */
        u64 bytes;
        /* A product that no size_t holds is what callers of calloc may count upon, and no mistake of theirs. */
        if (__builtin_mul_overflow(a[0], a[1], &bytes)) return 0;
        if ((i64)a[0] < 0 || (i64)a[1] < 0)
            fishy(ts, a[2], (i64)a[0] < 0 ? "nmemb" : "size", (i64)a[0] < 0 ? a[0] : a[1]);
        if ((i64)bytes < 0) return 0;
        return allocate(ts, bytes, 0, IP_AK_MALLOC, true);
    }
    case IP_HR_REALLOC: /* ptr, size, name */ return reallocate(ts, a[0], a[1], a[2]);
    case IP_HR_REALLOCARRAY: { /* ptr, n, size, name */
        u64 bytes;
        if (__builtin_mul_overflow(a[1], a[2], &bytes)) return 0;
        return reallocate(ts, a[0], bytes, a[3]);
    }
    case IP_HR_MEMALIGN: /* alignment, size, kind, how, name */
        return aligned(ts, a[0], a[1], (int)a[2], (int)a[3], a[4]);
    case IP_HR_FREE: /* ptr, kind, size, alignment */
        if (a[2] != IP_HR_UNSAID || a[3] != IP_HR_UNSAID || a[1] != IP_AK_MALLOC)
            check_sized(ts, a[0], (int)a[1], a[2], a[3]);
        if (a[0]) release(ts, a[0], (int)a[1], rt.chan->redzone);
        return 0;
    case IP_HR_USABLE: {
        heap_lock_all();
        u32 i = heap_block_exact(a[0]);
        u64 size = i ? heap_block(i)->size : 0;
        rt_unlock(&heap_lock);
        return size;
    }
    case IP_HR_NEW_FAILED: new_failed(ts, a[0]); return 0;
    case IP_HR_FIND: {
        char name[64];
        return rt_strncpy_from(name, a[0], sizeof name) < 0 ? 0 : rt_find_function(ts, name);
    }
    /* Watchpoints see the program's own accesses, so the program makes them then. */
    case IP_HR_COPY: return rt_debugged() & IP_DBG_WATCH ? 0 : heap_bulk_copy(ts, a[0], a[1], a[2]);
    case IP_HR_FILL: return rt_debugged() & IP_DBG_WATCH ? 0 : heap_bulk_fill(ts, a[0], a[1], a[2]);
    case IP_HR_PLAIN: return rt_debugged() & IP_DBG_WATCH ? 0 : heap_plain_run(a[0], a[1], (u8)a[2]);
    case IP_HR_STATS: {
        heap_lock_all();
        u64 w[4] = {0, heap_table->live_blocks, heap_table->live_bytes, heap_table->quarantine_bytes};
        for (u64 i = 0; i < heap_table->n_arenas; i++) w[0] += heap_table->arena_hi[i] - heap_table->arena_lo[i];
        rt_unlock(&heap_lock);
        rt_copy_to(a[0], w, sizeof w);
        rt_hook_written(a[0], sizeof w);
        return 0;
    }
    default: return 0;
    }
}

#define RQ_HEAP_BASE 0x49500000u

bool heap_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) {
    if ((code & 0xffff0000u) != RQ_HEAP_BASE) return false;
    bool shown = rt.flags & IP_C_SHOW_HEAP, answers = code != IP_HR_FREE;
    if (shown && !answers) heap_show_call(ts, code, args, 0);
    *result = rt_heap_request(ts, code, args);
    if (shown && answers) heap_show_call(ts, code, args, *result);
    return true;
}
