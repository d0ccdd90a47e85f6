/* Inside of interpose/shadow: V and A bits and their slow paths.
 *
 * The shadow of client byte a (docs/memcheck.md, "The shadow"):
 *   V byte  a + IP_V_CONST      one bit per bit, 1 = undefined
 *   A bit   (a >> 3) + IP_A_BASE, bit a & 7; 1 = unaddressable
 * Invariant: an unaddressable byte has V = 0xff.  Memory below the stack
 * pointer has A = 0 over the whole stack region; whether it is addressable
 * follows from RSP.
 * A shadow page may be missing (nothing was ever mapped there): that reads as
 * unaddressable, so everything that looks at an address the guest chose goes
 * through sh_read.
 */
#ifndef INTERPOSE_SHADOW_H
#define INTERPOSE_SHADOW_H

#include "runtime/core/errors.h"
#include "runtime/hooks.h"

#define SH_REDZONE   128     /* bytes below RSP that the ABI lets a leaf function use */
#define SH_PUSHES    64      /* what a function pushes before it takes its frame */
#define SH_CHUNK     0x40000 /* V bytes that are given back together (settle.c); slow_entry.S has it, too */
#define SH_GIVE_BACK 65536   /* the largest frame that rt_give_back_stub marks */

static inline u64 sh_v(u64 a) { return a + IP_V_CONST; }
static inline u64 sh_a(u64 a) { return (a >> 3) + IP_A_BASE; }

#define SH_SHORT 512 /* up to here rep stosb takes longer to begin than words one by one (docs/measurements.md, 55) */

/* Without vector registers, which are the program's on the light path. */
static inline void sh_fill(u64 p, int c, u64 n) {
    if (n > SH_SHORT) {
        __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
        return;
    }
    u64 word = (u8)c * 0x0101010101010101ull;
    /* volatile: a loop, not a call of memset */
    for (; n >= 8; p += 8, n -= 8) *(volatile u64 *)p = word;
    for (; n; p++, n--) *(volatile u8 *)p = (u8)c;
}
static inline void sh_copy(u64 d, u64 s, u64 n) {
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}
/* Read shadow (or guest) bytes that may not exist: 0 or -EFAULT. */
static inline long sh_read(void *dst, u64 src, u64 n) { return rt_copy_from(dst, src, n); }

/* shadow_map.c */
/* As rt_shadow_set, for memory known to be mapped (the heap's own). */
void sh_set_mapped(u64 addr, u64 len, int state);
/* A block of the heap, whose V bits are all set while nobody owns it, has become the program's, or ends.  idle: what
 * holds them may be given back at once. */
void sh_block_allocated(u64 addr, u64 len, bool defined);
void sh_block_released(u64 addr, u64 len, bool idle);
/* The V bytes of mapped memory are about to be written, all of them: get the pages in one call. */
void sh_make_present(u64 addr, u64 len);
/* n V bytes from p on, all mapped, become zero. */
void sh_zero(u64 p, u64 n);
/* Nobody owns this memory of the heap, whose V bytes began as shared pages of ones: they are so again. */
void sh_idle(u64 addr, u64 len);
/* No byte is addressable that has its V byte in this page. */
bool sh_is_nobodys(u64 page);
/* Bytes [lo, hi) are undefined, as far as they have a shadow. */
void sh_undefine(u64 lo, u64 hi);
/* Bytes become defined, as far as they have a shadow: no page is written that holds zero, for it may be given back. */
void sh_define(u64 addr, u64 len);

/* settle.c */
/* V bytes [lo, hi) are a block's, and will be exchanged for shared pages of 0xff when it ends; they are no more. */
void sh_note_large(u64 lo, u64 hi);
void sh_forget_large(u64 lo, u64 hi);
/* The V byte of addr lies in a chunk that is all in such a range. */
bool sh_is_large(u64 addr);
/* How many of n bytes from addr on have their V bytes in one chunk. */
static inline u64 sh_piece(u64 addr, u64 n) {
    u64 most = SH_CHUNK - (sh_v(addr) & (SH_CHUNK - 1));
    return n < most ? n : most;
}
/* The V bytes [lo, hi) exist and are zero. */
static inline bool sh_is_zero(u64 lo, u64 hi) { return lo >= hi || rt_zeros(lo, hi - lo) == (long)(hi - lo); }
/* The A bits of the program's bytes [addr, end) exist and are zero: but for a stack's dead part all is addressable. */
bool sh_is_open(u64 addr, u64 end);
/* The program's bytes [addr, addr+len) have become defined: give back chunks of V bytes that end in them. */
void sh_settled(u64 addr, u64 len);
/* V bytes of a whole chunk become zero, by fresh pages; false: not in such a range, they are as they were. */
bool sh_exchange(u64 chunk);

/* alike.c */
/* The file of shared pages: ones, and then, behind a page that tells how many there are, patterns. */
#define SH_PATTERNS_AT (2ull << 20)
#define SH_PATTERNS    32
#define SH_PATTERN_LEN (256ull << 10)
/* In a span of the heap each cell of stride bytes has a block of size bytes, at offset: have its V bytes in common with
 * others, if all is defined.  True: they are so until sh_end_alike, which is due when no block is left. */
bool sh_share_alike(u64 lo, u64 bytes, u64 stride, u64 offset, u64 size);
void sh_end_alike(u64 lo, u64 bytes);
/* The same of one block, whose V bytes go back if all is defined, until it ends: then nothing in it is. */
bool sh_share_zeros(u64 addr, u64 size);
void sh_end_zeros(u64 addr, u64 size);
/* Their file makes room for another one: from now on there are no more. */
void sh_no_patterns(void);

/* slow.c */
enum { SH_ACC_UNADDR = 1, SH_ACC_ADDR = 2, SH_ACC_UNDEF = 4 };
/* Addressability and V bits of [addr, addr+n).  v may be NULL. */
int sh_access(struct tstate *ts, u64 addr, u64 n, u8 *v);
/* The same for a load (sh_open_untouched). */
int sh_access_load(struct tstate *ts, u64 addr, u64 n, u8 *v);
bool sh_addressable(struct tstate *ts, u64 addr);
/* Whether the partial-loads rule excuses a load that is partly unaddressable
 * (docs/spec/options.md section 7, --partial-loads-ok). */
bool sh_partial_ok(u64 addr, u64 n, int acc);
void sh_report_access(struct tstate *ts, int kind, u64 addr, u64 n);
void sh_report_store(struct tstate *ts, u64 addr, u64 n);

/* stack_change.c: which stack does an address belong to */
/* Register or forget a stack (main, threads; named: client request STACK_REGISTER). */
void rt_stack_register(u64 lo, u64 hi, bool named);
void rt_stack_unregister(u64 lo, u64 hi); /* this very region */
void rt_stack_forget(u64 lo, u64 hi);     /* all that it touches */
/* Make ts->stack_lo/hi those of the stack RSP is on. */
bool sh_stack_adopt(struct tstate *ts, u64 sp);
static inline void sh_stack_sync(struct tstate *ts) {
    u64 sp = ts->gpr[IP_RSP];
    if (sp <= ts->stack_lo || sp > ts->stack_hi) sh_stack_adopt(ts, sp);
}
/* Is ts on a stack on which everything below RSP, sp, is undefined, and will be: the main one or a thread's, or one
 * that it has not seen yet? */
bool sh_is_own_stack(const struct tstate *ts, u64 sp);
/* IP_U_TAKES: what the instruction, which has not run yet, takes by a known step down: is undefined from now on. */
bool sh_stack_taken(const struct tstate *ts, const struct ip_insn *in, u64 *lo, u64 *hi);
void sh_take_stack(const struct tstate *ts, const struct ip_insn *in);
/* Such a step has found nothing defined. */
void sh_stack_calm(struct tstate *ts);

/* elsewhere.c: stacks of other threads.  ts begins or ends (its own thread asks), the main one is larger. */
extern u8 **sh_stack_pages;
void sh_stack_begins(struct tstate *ts);
void sh_stack_ends(struct tstate *ts);
void sh_stack_grows(u64 lo, u64 old_lo);
bool sh_meets_stacks(u64 addr, u64 end);
/* Pages of a thread's stack that nobody has touched hold zeros, and no frame: from the first load on they are defined,
 * for programs look there how deep a stack was.  False: no page of [addr, addr+n) is such a one. */
bool sh_open_untouched(u64 addr, u64 n);
/* Bytes (a bit each) of the n <= 64 at addr, which is not on the stack that ts is on, that are dead on that of another
 * thread, which waits. */
u64 sh_look_elsewhere(const struct tstate *ts, u64 addr, unsigned n);
static inline u64 sh_dead_elsewhere(const struct tstate *ts, u64 addr, unsigned n) {
    return rt_unlikely(sh_stack_pages != NULL) ? sh_look_elsewhere(ts, addr, n) : 0;
}
/* Bytes (a bit each) of the n <= 64 at addr that are in [lo, hi). */
static inline u64 sh_bytes_in(u64 addr, unsigned n, u64 lo, u64 hi) {
    if (addr >= hi || addr + n <= lo) return 0;
    u64 below = hi - addr, mask = below < n ? (1ull << below) - 1 : n < 64 ? (1ull << n) - 1 : ~0ull;
    return addr < lo ? mask & ~0ull << (lo - addr) : mask;
}

/* Whole pages [at, at+len) hold 0xff from now on (ones.c; with sh_map_lock). */
void sh_ones_init(void);
void sh_map_ones(u64 at, u64 len);
/* A few of them, without the lock. */
void sh_map_some_ones(u64 at, u64 len);

/* Locks of shadow_map.c and stack_change.c, to be held across a fork. */
extern rt_lock_t sh_map_lock, sh_stacks_lock;

/* Something else than the stack lies below RSP, in a block that nobody has declared a stack. */
void sh_found_beside_stack(void);
/* redzone_not_lo of an address, and back. */
static inline u64 sh_not_lo(u64 lo) { return ~lo & ~(1ull << 63); }
/* Bytes below RSP were defined: the next call or return takes that back. */
static inline void sh_note_red_zone(struct tstate *ts, u64 addr) {
    u64 sp = ts->gpr[IP_RSP];
    if (addr >= sp || addr + SH_REDZONE < sp || ts->stack_shared || addr < ts->stack_lo || sp > ts->stack_hi) return;
    ts->umask |= 1ull << IP_U_REDZONE;
    if (sh_not_lo(addr) > ts->redzone_not_lo) ts->redzone_not_lo = sh_not_lo(addr);
}
void sh_clean_red_zone(struct tstate *ts);

/* shadow_map.c: what a mapping's shadow is (RT_SH_*), from its birth on */
void rt_shadow_init(struct tstate *ts);
void rt_shadow_mapped(u64 addr, u64 len, int state);
void rt_shadow_opened(u64 addr, u64 len); /* whole pages: those without a shadow get one, defined */
void rt_shadow_unmapped(u64 addr, u64 len);
void rt_shadow_moved(u64 from, u64 to, u64 len);
void rt_shadow_set(u64 addr, u64 len, int state); /* any alignment */
/* Stack region known (main, clone, sigaltstack): below sp becomes 0xff; or it stays, since the program has filled it
 * (true: IP_U_TAKES). */
bool rt_shadow_stack(u64 lo, u64 hi, u64 sp);
/* rt_shadow_set for the mapped parts of a range, however long it is. */
void rt_shadow_set_mapped(u64 addr, u64 len, int state);
/* Is some byte bad: unaddressable; undefined; undefined but addressable?  *bad is the first such byte.  Any
 * range may be asked for; what lies beyond the program's address space, or after its top, is unaddressable. */
bool rt_shadow_unaddr(struct tstate *ts, u64 addr, u64 len, u64 *bad);
bool rt_shadow_undef(u64 addr, u64 len, u64 *bad);
bool rt_shadow_undef_only(struct tstate *ts, u64 addr, u64 len, u64 *bad);

/* stack_change.c */
void rt_shadow_stack_grown(struct tstate *ts, u64 lo, u64 old_lo, u64 hi);
bool rt_stack_region(u64 sp, u64 *lo, u64 *hi, bool *takes); /* takes: IP_U_TAKES */
void rt_stack_changed(struct tstate *ts, u64 old_sp, u64 new_sp);
/* The program's own instruction did it: --max-stackframe's warning. */
void rt_stack_stepped(struct tstate *ts, u64 old_sp, u64 new_sp);
/* RSP's new value may be that of another stack. */
void rt_stack_loaded(struct tstate *ts, u64 old_sp, u64 new_sp);
/* The same, but what lies in the new red zone stays as it is, until a call or return. */
void rt_stack_raised(struct tstate *ts, u64 old_sp, u64 new_sp);
/* Both. */
void rt_stack_restored(struct tstate *ts, u64 old_sp, u64 new_sp);
/* From a handler to what it interrupted, whose red zone stays.  there: its frame lies below that, on the same stack. */
void rt_stack_returned(struct tstate *ts, u64 old_sp, u64 new_sp, bool there);

/* slow.c, track.c, slow_exits.c, slow_entry.S: what translated code asks for (ts whole) */
/* Of clean code: true if it goes on there, false if the tracking translation is to have the access and its report. */
bool rt_load_slow(struct tstate *ts);
bool rt_store_slow(struct tstate *ts);
/* The instruction at ts->pc, of which in tells nothing that depends on where it is (jit/describe.c). */
void rt_track_insn(struct tstate *ts, const struct ip_insn *in);
enum rt_slow sh_slow(struct tstate *ts, const struct ip_exit *x);
void rt_save_vec(struct tstate *ts, int width);
void sh_symbols(u64 *symbols);
void rt_report_jump(struct tstate *ts, u64 pc, u64 ret);
void rt_report_no_memory(struct tstate *ts, u64 addr);
void rt_report_no_address(struct tstate *ts);

/* handler_vbits.c: V bits of registers around a signal handler */
void sh_handler_enter(struct tstate *ts, u64 frame, const struct sig_context *mc);
void sh_handler_leave(struct tstate *ts, u64 frame, const struct sig_context *mc);

#endif
