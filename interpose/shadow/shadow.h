/* Inside of interpose/shadow: V and A bits, slow paths, errors.
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

#include "runtime/base/rt.h"

#define SH_REDZONE 128 /* bytes below RSP that the ABI lets a leaf function use */

static inline u64 sh_v(u64 a) { return a + IP_V_CONST; }
static inline u64 sh_a(u64 a) { return (a >> 3) + IP_A_BASE; }

static inline void sh_fill(u64 p, int c, u64 n) {
    __asm__ volatile("rep stosb" : "+D"(p), "+c"(n) : "a"(c) : "memory");
}
static inline void sh_copy(u64 d, u64 s, u64 n) {
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n) : : "memory");
}
/* Read shadow (or guest) bytes that may not exist: 0 or -EFAULT. */
static inline long sh_read(void *dst, u64 src, u64 n) { return rt_copy_from(dst, src, n); }

/* shadow_map.c */
/* As rt_shadow_set, for memory known to be mapped (the heap's own). */
void sh_set_mapped(u64 addr, u64 len, int state);
/* Set A bits only (1 = unaddressable); the shadow must be mapped. */
void sh_set_a(u64 addr, u64 len, int bit);

/* slow.c */
enum { SH_ACC_UNADDR = 1, SH_ACC_ADDR = 2, SH_ACC_UNDEF = 4 };
/* Addressability and V bits of [addr, addr+n).  v may be NULL. */
int sh_access(struct tstate *ts, u64 addr, u64 n, u8 *v);
bool sh_addressable(struct tstate *ts, u64 addr);
/* Whether the partial-loads rule excuses a load that is partly unaddressable
 * (docs/spec/options.md section 7, --partial-loads-ok). */
bool sh_partial_ok(u64 addr, u64 n, int acc);
void sh_report_access(struct tstate *ts, int kind, u64 addr, u64 n);
void sh_report_store(struct tstate *ts, u64 addr, u64 n);

/* stack.c: which stack does an address belong to */
/* Register or forget a stack (main, threads, client request STACK_REGISTER). */
void rt_stack_register(u64 lo, u64 hi);
void rt_stack_unregister(u64 lo, u64 hi); /* this very region */
void rt_stack_forget(u64 lo, u64 hi);     /* all that it touches */
/* Make ts->stack_lo/hi those of the stack RSP is on. */
void sh_stack_sync(struct tstate *ts);

/* Locks of errors.c, shadow_map.c and stack.c, for fork.c alone. */
extern rt_lock_t sh_err_lock, sh_map_lock, sh_stacks_lock;

/* Bytes below RSP were defined: the next call or return takes that back. */
static inline void sh_note_red_zone(struct tstate *ts, u64 addr) {
    u64 sp = ts->gpr[IP_RSP];
    if (addr >= sp || addr + SH_REDZONE < sp || ts->stack_shared || addr < ts->stack_lo || sp > ts->stack_hi) return;
    ts->umask |= 1ull << IP_U_REDZONE;
    if (~addr > ts->redzone_not_lo) ts->redzone_not_lo = ~addr;
}
void sh_clean_red_zone(struct tstate *ts);

/* errors.c: an error is built in place, in the thread's channel slot.  begin
 * fills kind, pc, sp and the stack; nothing may use the slot before end. */
struct ip_error *rt_error_begin(struct tstate *ts, int kind);
void rt_error_end(struct tstate *ts, struct ip_error *e);
/* VALGRIND_{DISABLE,ENABLE}_ERROR_REPORTING: per-thread counter. */
void rt_error_disable(struct tstate *ts, long delta);

#endif
