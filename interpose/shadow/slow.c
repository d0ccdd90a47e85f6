/* Slow paths of memory accesses: is it addressable, is it defined.
 *
 * Reached from clean translations (entry.S) when the V bytes of an access are
 * not all zero or not there.  docs/memcheck.md, "The clean translation": what is
 * not addressable and defined leads on in the tracking translation, so that in the
 * rest of the clean block these bytes need no other check; where only
 * addresses are checked it is reported here.
 */
#include "runtime/hooks.h"
#include "runtime/memory/memory.h"
#include "runtime/signals/signals.h"
#include "shadow/shadow.h"
#include "shadow/track.h"

/* A bits of bytes addr .. addr+n-1 (n <= 64), bit 0 first; missing pages count as ones. */
static u64 a_word(u64 addr) {
    u64 w;
    return sh_read(&w, sh_a(addr), 8) < 0 ? ~0ull : w;
}
static u64 a_run(u64 addr, unsigned n) {
    unsigned at = addr & 63;
    u64 bits = a_word(addr - at) >> at;
    if (at + n > 64) bits |= a_word(addr - at + 64) << (64 - at);
    return n < 64 ? bits & ((1ull << n) - 1) : bits;
}

/* In a heap block or mapping that is a stack by nobody's word, something else may grow towards the stack (the heap of
 * an Erlang process): what lies right above defined bytes belongs to that, and so does the block's begin, far below
 * RSP.  Below a stack that has given its frames back, nothing is defined. */
#define GROWS 256
static bool is_beside_stack(const struct tstate *ts, u64 addr) {
    u64 lo = ts->stack_lo, word;
    if (addr < lo + GROWS && ts->gpr[IP_RSP] - addr > 4 * GROWS) return true;
    for (u64 at = addr & ~7ull; at >= lo + 8 && addr - at < GROWS; at -= 8)
        if (sh_read(&word, sh_v(at - 8), 8) < 0)
            return false;
        else if (word != ~0ull)
            return true;
    return false;
}

/* Bytes of the current stack, or of one of another thread that waits, below the red zone: addressable to nobody. */
static u64 dead_run(const struct tstate *ts, u64 addr, unsigned n) {
    if (!ts) return 0;
    u64 top = ts->gpr[IP_RSP] - SH_REDZONE;
    if (addr < ts->stack_lo || addr >= ts->stack_hi) {
        u64 other = sh_dead_elsewhere(ts, addr, n);
        if (other) return other;
    }
    if (ts->stack_shared || addr >= ts->stack_hi || addr + n <= ts->stack_lo || addr >= top) return 0;
    if (ts->stack_looks && is_beside_stack(ts, addr)) {
        sh_found_beside_stack();
        return 0;
    }
    return sh_bytes_in(addr, n, ts->stack_lo, top < ts->stack_hi ? top : ts->stack_hi);
}

/* Which of n (<= 64) bytes are unaddressable; ff: those with V = 0xff. */
static u64 unaddr_run(const struct tstate *ts, u64 addr, unsigned n, u64 ff) {
    return ff ? ff & (a_run(addr, n) | dead_run(ts, addr, n)) : 0;
}

static u64 ff_bytes(u64 word, unsigned n) {
    u64 ff = 0;
    for (unsigned i = 0; i < n; i++, word >>= 8) ff |= (u64)((word & 0xff) == 0xff) << i;
    return ff;
}

/* V byte of a through an aligned word, which never crosses a page. */
static bool v_byte(u64 a, u8 *b) {
    u64 word, at = sh_v(a);
    if (sh_read(&word, at & ~7ull, 8) < 0) return false;
    *b = (u8)(word >> 8 * (at & 7));
    return true;
}

bool sh_addressable(struct tstate *ts, u64 a) {
    u8 b;
    if (!v_byte(a, &b)) return false;
    return b != 0xff || !unaddr_run(ts, a, 1, 1);
}

int sh_access(struct tstate *ts, u64 addr, u64 n, u8 *v) {
    int acc = 0;
    while (n) {
        unsigned k = n < 8 ? (unsigned)n : 8;
        u64 word = 0, missing = 0;
        if (sh_read(&word, sh_v(addr), k) < 0) {
            word = 0;
            for (unsigned i = 0; i < k; i++) {
                u8 b = 0xff;
                if (!v_byte(addr + i, &b)) missing |= 1ull << i;
                word |= (u64)b << 8 * i;
            }
        }
        if (v) {
            memcpy(v, &word, k);
            v += k;
        }
        u64 all = (1ull << k) - 1, un = 0;
        if (word) {
            un = missing | unaddr_run(ts, addr, k, ff_bytes(word, k));
            acc |= SH_ACC_UNDEF;
        }
        acc |= (un ? SH_ACC_UNADDR : 0) | (un != all ? SH_ACC_ADDR : 0);
        addr += k;
        n -= k;
    }
    return acc;
}

int sh_access_load(struct tstate *ts, u64 addr, u64 n, u8 *v) {
    int acc = sh_access(ts, addr, n, v);
    if (!(acc & SH_ACC_UNADDR) || !sh_open_untouched(addr, n)) return acc;
    return sh_access(ts, addr, n, v);
}

bool sh_partial_ok(u64 addr, u64 n, int acc) {
    if (rt.flags & IP_C_NO_PARTIAL_LOADS) return false;
    return (acc & SH_ACC_ADDR) && (n == 4 || n == 8 || n == 16 || n == 32 || n == 64) && !(addr & (n - 1));
}

/* A stack that overflows is no invalid access: the program may be right, only its stack is too small.  The fault
 * follows, and says so. */
void sh_report_access(struct tstate *ts, int kind, u64 addr, u64 n) {
    if (rt_overflows_stack(ts, addr) || rt_told_before(ts, addr) || rt_hook_ignored(ts, addr, n)) return;
    struct ip_error *e = rt_error_begin(ts, kind);
    e->size = (u32)n;
    e->addr = addr;
    rt_error_end(ts, e);
}

void rt_report_jump(struct tstate *ts, u64 pc, u64 ret) {
    if (sh_addressable(ts, pc)) return; /* data: the fault alone, as a protection it is */
    struct ip_error *e = rt_error_begin(ts, IP_E_JUMP);
    e->addr = pc;
    if (ret) {
        u32 most = sizeof e->frames / sizeof e->frames[0] - 1, n = e->n_frames < most ? e->n_frames : most;
        for (u32 i = n; i > 1; i--) e->frames[i] = e->frames[i - 1];
        e->frames[1] = ret;
        e->n_frames = n + 1;
    }
    rt_error_end(ts, e);
}

/* Whether it reads or writes, and how much, the supervisor finds out from the
 * instruction: size 0 asks for that, and aux[0] for the address. */
void rt_report_no_memory(struct tstate *ts, u64 addr) {
    if (rt.flags & IP_C_SHADOW) sh_report_access(ts, IP_E_READ, addr, 0);
}

void rt_report_no_address(struct tstate *ts) {
    if (!(rt.flags & IP_C_SHADOW) || rt_told_before(ts, 0)) return;
    struct ip_error *e = rt_error_begin(ts, IP_E_READ);
    e->aux[0] = 1;
    rt_error_end(ts, e);
}

/* Vector stores are judged by the 8-byte word, as Valgrind does: one report
 * for each word that is not addressable throughout. */
void sh_report_store(struct tstate *ts, u64 addr, u64 n) {
    if (n <= 8 || n % 8) {
        sh_report_access(ts, IP_E_WRITE, addr, n);
        return;
    }
    for (u64 i = 0; i < n; i += 8)
        if (sh_access(ts, addr + i, 8, NULL) & SH_ACC_UNADDR) sh_report_access(ts, IP_E_WRITE, addr + i, 8);
}

bool rt_load_slow(struct tstate *ts) {
    u64 addr = ts->acc_addr, n = ts->acc_info & 0xffff;
    sh_stack_sync(ts);
    int acc = sh_access_load(ts, addr, n, NULL);
    if (rt.flags & IP_C_UNDEF) return !(acc & (SH_ACC_UNADDR | SH_ACC_UNDEF));
    if (!(acc & SH_ACC_UNADDR)) return true;
    /* What the instruction also writes has no check of its own. */
    struct ip_insn in;
    if (tk_fetch(ts->pc & IP_KEY_PC, &in) && in.mem.present && (in.mem.access & IP_ACC_W)) return false;
    if (!sh_partial_ok(addr, n, acc)) sh_report_access(ts, IP_E_READ, addr, n);
    return true;
}

bool rt_store_slow(struct tstate *ts) {
    u64 addr = ts->acc_addr, n = ts->acc_info & 0xffff;
    sh_stack_sync(ts);
    int acc = sh_access(ts, addr, n, NULL);
    if (!(acc & SH_ACC_UNADDR)) {
        sh_fill(sh_v(addr), 0, n);
        sh_note_red_zone(ts, addr);
        sh_settled(addr, n);
        return true;
    }
    if (rt.flags & IP_C_UNDEF) return false;
    sh_report_store(ts, addr, n);
    for (u64 i = 0; i < n; i++)
        if (sh_addressable(ts, addr + i)) *(volatile u8 *)sh_v(addr + i) = 0;
    return true;
}

/* Where the next mapping at or above addr begins; end if that is not below it. */
static u64 next_mapped(u64 addr, u64 end) {
    struct rt_seg seg;
    u64 page = RT_ROUND_DOWN(addr, RT_PAGE) + RT_PAGE;
    if (!rt_next_seg(page, &seg) || seg.lo >= end) return end;
    return seg.lo > page ? seg.lo : page < end ? page : end;
}

enum bad { UNADDR, UNDEF, UNDEF_ONLY };

/* Bytes (a bit each) of the up to 64 at addr that are bad; word: the V bits of the first w, not all zero.
 * *skip is set to how many bytes follow without need to look at their V bits. */
static u64 bad_bytes(struct tstate *ts, u64 addr, unsigned left, u64 word, unsigned w, enum bad what, u64 *skip) {
    if (what == UNDEF) return 1ull << (unsigned)__builtin_ctzll(word) / 8;
    unsigned m = left < 64 ? left : 64;
    u64 all = m < 64 ? (1ull << m) - 1 : ~0ull, dark = a_run(addr, m) | dead_run(ts, addr, m), some = 0;
    if (what == UNADDR) {
        if (!dark) *skip = m; /* whatever their V bits, they are addressable */
        return dark ? unaddr_run(ts, addr, w, ff_bytes(word, w)) : 0;
    }
    if (dark == all) {
        *skip = m;
        return 0;
    }
    for (unsigned i = 0; i < w; i++) some |= (u64)((word >> 8 * i & 0xff) != 0) << i;
    return some & ~dark;
}

/* From so many bytes on a look at all A bits takes less than one at V bits by words. */
#define OPEN_MIN 128

bool sh_is_open(u64 addr, u64 end) {
    if (end - addr <= 64) return !a_run(addr, (unsigned)(end - addr));
    u64 lo = RT_ROUND_UP(addr, 8), hi = RT_ROUND_DOWN(end, 8);
    if ((lo > addr && a_run(addr, (unsigned)(lo - addr))) || (end > hi && a_run(hi, (unsigned)(end - hi))))
        return false;
    return sh_is_zero(sh_a(lo), sh_a(hi));
}

/* Surely addressable, all of it. */
static bool is_open(const struct tstate *ts, u64 addr, u64 end) {
    if (ts && !ts->stack_shared && addr < ts->stack_hi && end > ts->stack_lo && addr < ts->gpr[IP_RSP]) return false;
    if (ts && sh_meets_stacks(addr, end)) return false;
    return sh_is_open(addr, end);
}

/* Is there a bad byte in [addr, addr+len)?  Zero V bytes are skipped in blocks. */
static bool scan(struct tstate *ts, u64 addr, u64 len, enum bad what, u64 *bad) {
    u64 buf[32];
    u64 limit = addr < IP_CLIENT_END ? IP_CLIENT_END - addr : 0, end = addr + (len < limit ? len : limit);
    bool look = what == UNADDR && len <= limit; /* at A bits, where V bits do not say at once that all is well */
    if (look && len > RT_PAGE && is_open(ts, addr, end)) return false;
    look = look && len <= RT_PAGE;
    for (u64 k; addr < end; addr += k) {
        k = RT_PAGE - (sh_v(addr) & (RT_PAGE - 1));
        if (k > end - addr) k = end - addr;
        long zeros = rt_zeros(sh_v(addr), k);
        if (zeros > 0) {
            k = (u64)zeros;
            continue;
        }
        if (look && end - addr >= OPEN_MIN && is_open(ts, addr, end)) return false;
        look = false;
        if (k > sizeof buf) k = sizeof buf - (sh_v(addr) & (sizeof buf - 1));
        if (sh_read(buf, sh_v(addr), k) < 0) {
            if (what != UNDEF_ONLY) {
                *bad = addr;
                return true;
            }
            k = next_mapped(addr, end) - addr;
            continue;
        }
        for (u64 i = 0; i < k;) {
            unsigned w = k - i < 8 ? (unsigned)(k - i) : 8;
            u64 word = w == 8 ? buf[i / 8] : buf[i / 8] & ((1ull << 8 * w) - 1), skip = w;
            u64 found = word ? bad_bytes(ts, addr + i, (unsigned)(k - i), word, w, what, &skip) : 0;
            if (found) {
                *bad = addr + i + (u64)__builtin_ctzll(found);
                return true;
            }
            i += skip;
        }
    }
    *bad = addr;
    return what != UNDEF_ONLY && len > limit;
}

bool rt_shadow_unaddr(struct tstate *ts, u64 addr, u64 len, u64 *bad) {
    return (rt.flags & IP_C_SHADOW) && scan(ts, addr, len, UNADDR, bad);
}

bool rt_shadow_undef(u64 addr, u64 len, u64 *bad) {
    return (rt.flags & IP_C_SHADOW) && scan(NULL, addr, len, UNDEF, bad);
}

bool rt_shadow_undef_only(struct tstate *ts, u64 addr, u64 len, u64 *bad) {
    return (rt.flags & IP_C_SHADOW) && scan(ts, addr, len, UNDEF_ONLY, bad);
}
