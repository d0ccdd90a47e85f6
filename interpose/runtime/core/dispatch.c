/* What happens when translated code leaves: look-ups, exits, slow paths. */
#include <asm/unistd.h>
#include <linux/errno.h>

#include "runtime/core/errors.h"
#include "runtime/core/core.h"
#include "runtime/seam.h"
#include "runtime/hooks.h"
#include "runtime/base/cpu.h"
#include "runtime/base/rt.h"
#include "runtime/base/ksignal.h"
#include "abi/inline/pcs.h"
#include "abi/inline/points.h"
#include "abi/inline/tt_hash.h"

static const struct ip_ttent *const tt = RT_META(struct ip_ttent, IP_META_TT);
static const struct ip_block *const blocks = RT_META(struct ip_block, IP_META_BLOCKS);
extern char rt_find_stub[], rt_miss_stub[];
static u64 *const fast = (u64 *)IP_FAST_BASE;

#define MAX_INSN       15
#define KICK_AGAIN     1000u
#define BUS_NO_ADDRESS 2 /* BUS_ADRERR */
#define MODE_BITS      (IP_KEY_NOREDIR | IP_KEY_TRACK | IP_KEY_ONE | IP_KEY_BARE)

/* ---- Look-up ------------------------------------------------------------------- */

static u32 tt_lookup(u64 key) {
    for (u32 n = 0;; n++) {
        const struct ip_ttent *at = &tt[ip_tt_place(key, n)];
        u32 entry = __atomic_load_n(&at->entry, __ATOMIC_ACQUIRE);
        if (entry == 0) return 0;
        if (!ip_tt_is(blocks, entry, key)) continue;
        u32 host = at->host;
        /* Dropped meanwhile? */
        return __atomic_load_n(&at->entry, __ATOMIC_ACQUIRE) == entry ? host : 0;
    }
}

/* Counts flushes: what was looked up before one may not be entered after it. */
static u64 fast_epoch;

/* Without chaining every block is entered from C. */
static u64 empty_entry(void) { return rt.flags & IP_C_NO_CHAIN ? (u64)rt_miss_stub : (u64)rt_find_stub; }

void rt_fill_fast(void) {
    u64 empty = empty_entry();
    for (u32 i = 0; i < 1u << IP_FAST_BITS; i++) fast[i] = empty;
}

void rt_flush_fast(void) {
    u64 empty = empty_entry();
    __atomic_fetch_add(&fast_epoch, 1, __ATOMIC_SEQ_CST);
    for (u32 i = 0; i < 1u << IP_FAST_BITS; i++)
        if (fast[i] != empty) fast[i] = empty;
}

/* The same for a few: a compiler drops code more often than the whole table can be read. */
static void clear_fast(const u16 *entries, u32 n) {
    u64 empty = empty_entry();
    __atomic_fetch_add(&fast_epoch, 1, __ATOMIC_SEQ_CST);
    for (u32 i = 0; i < n; i++) fast[entries[i]] = empty;
}

u64 rt_drop_epoch(void) { return __atomic_load_n(&fast_epoch, __ATOMIC_SEQ_CST); }

void rt_forked_tables(struct tstate *ts, u64 epoch) {
    /* What another thread of the parent changed in between was dropped there only. */
    if (rt_drop_epoch() != epoch) rt_request_translator(ts, IP_R_FLUSH);
    rt_flush_fast();
}

/* epoch: as it was before host was looked up. */
static void fast_insert(u64 pc, u32 host, u64 epoch) {
    if (rt.flags & IP_C_NO_CHAIN) return; /* every block is entered from here */
    if (pc >= 0x80000000ull) return;
    u64 *entry = &fast[pc & 0xffff];
    __atomic_store_n(entry, host - IP_ENTRY_CHECK, __ATOMIC_SEQ_CST);
    /* Another thread has flushed since: this may be an entry that had to go. */
    if (__atomic_load_n(&fast_epoch, __ATOMIC_SEQ_CST) != epoch)
        __atomic_store_n(entry, (u64)rt_find_stub, __ATOMIC_SEQ_CST);
}

/* ---- Whole flush: the cache is full -------------------------------------------------- */

static rt_lock_t flush_lock;
u32 rt_flush_seq; /* odd during a flush; another one after each, or when blocks must be left */

static bool flushing(void) { return __atomic_load_n(&rt_flush_seq, __ATOMIC_SEQ_CST) & 1; }

/* What is looked up from now on may be entered unless a flush begins meanwhile. */
static void note_flushes(struct tstate *ts) {
    rt_th(ts)->flush_seq = __atomic_load_n(&rt_flush_seq, __ATOMIC_SEQ_CST) & ~1u;
}

/* Another thread leaves the block that it is in, however long that takes one that does not get a CPU: the instruction
 * that it is amid is done after the kick.  What it enters then it has looked up since rt_flush_seq was changed.  False:
 * it stands still, in its block. */
static bool drive_out(struct tstate *o) {
    struct thread_wait w = {0};
    while (rt_kick(rt_th(o))) /* again from time to time: the signal is lost where another of its number waits */
        do {
            if (!thread_wait(o, &w)) return false;
            if (!__atomic_load_n(&rt_th(o)->kick, __ATOMIC_ACQUIRE)) return true; /* it came, and has gone on since */
        } while (w.moments % KICK_AGAIN && rt_is_inside(o));
    return true;
}

/* Every thread but this one out of translated code and out of slow paths that
 * resume there.  Threads that come back wait in gate().  flush_lock is held. */
static void flush_all(struct tstate *ts) {
    if (!flushing())
        __atomic_fetch_add(&rt_flush_seq, 1, __ATOMIC_SEQ_CST);
    else /* a process on this memory was killed amid its flush, which has to come to an end, and not twice */
        thread_withdraw_killed();
    for (u32 i = 0;; i++) {
        struct tstate *o = rt_thread_by_index(i);
        if (!o) break;
        /* One that stands still is waited for as well: its block must not be written over. */
        while (o != ts && !drive_out(o) && !thread_killed(o));
    }
    rt_request_translator(ts, IP_R_FLUSH);
    rt_flush_fast();
    __atomic_fetch_add(&rt_flush_seq, 1, __ATOMIC_SEQ_CST);
}

static void flush_cache(struct tstate *ts) {
    u64 gen = rt.meta->generation;
    rt_lock(&flush_lock);
    if (flushing() || rt.meta->generation == gen) flush_all(ts);
    rt_unlock(&flush_lock);
}

void rt_leave_blocks(struct tstate *ts) {
    /* Whoever is on the way in with a look-up from before begins anew (entry.S). */
    __atomic_fetch_add(&rt_flush_seq, 2, __ATOMIC_SEQ_CST);
    for (u32 i = 0;; i++) {
        struct tstate *o = rt_thread_by_index(i);
        if (!o) break;
        if (o != ts) drive_out(o);
    }
}

static void translate_anew(struct tstate *ts, u64 flags) {
    if ((rt.flags & flags) == flags) return;
    rt_slot(ts)->a[0] = flags;
    rt_request_translator(ts, IP_R_EXACT);
    if (!rt_slot(ts)->r[0]) flush_cache(ts);
    rt.flags |= flags;
}

void rt_exact(struct tstate *ts) { translate_anew(ts, IP_C_EXACT | IP_C_JUMPS); }
void rt_note_jumps(struct tstate *ts) { translate_anew(ts, IP_C_JUMPS); }

static void gate(struct tstate *ts) {
    if (!flushing()) return;
    rt_th(ts)->in_runtime = RT_IN_RUNTIME;
    rt_lock(&flush_lock);
    if (flushing()) flush_all(ts);
    rt_unlock(&flush_lock);
}

void rt_flush_fork_lock(bool lock) {
    if (lock)
        rt_lock(&flush_lock); /* then no flush is under way */
    else
        rt_unlock(&flush_lock);
}

/* --evict: at about every Nth way through here, drop all translations or those
 * of one page, whatever other threads do. */
static bool evict(struct tstate *ts) {
    static u64 state = 0x2545f4914f6cdd1dull;
    u64 x = __atomic_load_n(&state, __ATOMIC_RELAXED) * 6364136223846793005ull + 1442695040888963407ull;
    __atomic_store_n(&state, x, __ATOMIC_RELAXED);
    if ((x >> 33) % rt.chan->evict != 0) return false;
    if (x >> 32 & 1)
        flush_cache(ts);
    else
        rt_invalidate(ts, ts->pc & IP_KEY_PC & ~(RT_PAGE - 1), RT_PAGE);
    return true;
}

/* Instructions that were made alone and without the tool, for a fault of theirs (sigdeliver.c).  No table has them, and
 * a program that handles its faults, or meets one signal after the other in the same place, comes here each time. */
static struct alone {
    u64 key, epoch, generation; /* nothing was dropped since */
    u32 host;
    u8 code[MAX_INSN];
} alone[16];
static rt_lock_t alone_lock;

static struct alone *alone_at(u64 key) { return &alone[key % (sizeof alone / sizeof *alone)]; }

/* May one that was made before serve?  What the program's code is now goes to code. */
static bool is_alone(struct tstate *ts, u64 key, u8 *code) {
    const u64 wanted = IP_KEY_ONE | IP_KEY_BARE;
    return (key & wanted) == wanted && !rt_th(ts)->stale_key && !rt_th(ts)->unwrapped && !rt_debugged() &&
           rt_copy_from(code, key & IP_KEY_PC, MAX_INSN) == 0;
}

static u32 made_alone(u64 key, const u8 *code) {
    const struct alone *a = alone_at(key);
    u32 host = 0;
    if (a->key != key || !rt_trylock(&alone_lock)) return 0;
    if (a->key == key && a->epoch == rt_drop_epoch() && a->generation == rt.meta->generation &&
        memcmp(a->code, code, MAX_INSN) == 0)
        host = a->host;
    rt_unlock(&alone_lock);
    return host;
}

static void keep_alone(const struct alone *made) {
    if (!rt_trylock(&alone_lock)) return;
    *alone_at(made->key) = *made;
    rt_unlock(&alone_lock);
}

static void ask_translator(struct tstate *ts, u32 kind) {
    if (!rt_translate_here(ts, kind)) rt_request_translator(ts, kind);
}

/* The translation of key, made if need be; patches exit_id to it.  0: nothing
 * can be fetched at its pc. */
static u32 translate(struct tstate *ts, u64 key, u32 exit_id) {
    struct ip_slot *s = rt_slot(ts);
    u64 gen = rt_th(ts)->exit_gen;
    for (;;) {
        u64 pc = key & IP_KEY_PC, code[2] = {pc, pc + 1};
        /* The end of a guest call has a block too (one exit): lockstep sees each pc there is. */
        if (pc != RT_CALL_RETURN && !rt_find_code(pc, code)) {
            if (!rt_debugged()) return 0;
            code[1] = pc; /* a debugger's breakpoint may lie there, where its calls return to */
            key |= IP_KEY_ONE;
        }
        struct alone one = {.key = key, .epoch = rt_drop_epoch(), .generation = rt.meta->generation};
        bool is_one = is_alone(ts, key, one.code);
        if (is_one && (one.host = made_alone(key, one.code))) return one.host;
        s->a[0] = key;
        s->a[1] = exit_id;
        s->a[2] = code[0];
        s->a[3] = code[1];
        s->a[4] = gen;
        s->a[5] = rt_th(ts)->stale_key;
        s->a[6] = (rt_th(ts)->unwrapped != 0) | (u64)(rt_th(ts)->debug_past == pc) << 1;
        ask_translator(ts, IP_R_TRANSLATE);
        rt_th(ts)->stale_key = 0;
        if (s->r[1]) {
            flush_cache(ts);
            exit_id = 0;
            continue;
        }
        u32 n = s->len / 8;
        one.host = (u32)s->r[0];
        if (is_one && one.host) keep_alone(&one);
        if (one.host) return one.host;
        if (!n) rt_panic(ts, "no translation for 0x%lx", key);
        /* Watch the pages first: a block that others find must not be stale. */
        u64 pages[8];
        memcpy(pages, s->data, 8 * (n < 8 ? n : 8));
        for (u32 i = 0; i < n && i < 8; i++) {
            if (pc == RT_CALL_RETURN)
                rt_watched_page(ts, pages[i], false); /* nothing is ever mapped there */
            else
                rt_protect_code_page(ts, pages[i]);
        }
    }
}

void rt_watched_page(struct tstate *ts, u64 page, bool unnoticed) {
    rt_slot(ts)->a[0] = page;
    rt_slot(ts)->a[1] = unnoticed;
    ask_translator(ts, IP_R_WATCHED);
}

static u64 dropped; /* because their mapping changed */

static u64 invalidate(struct tstate *ts, u64 addr, u64 len, u64 why) {
    struct ip_slot *s = rt_slot(ts);
    s->a[0] = addr;
    s->a[1] = len;
    s->a[2] = why;
    ask_translator(ts, IP_R_INVALIDATE);
    if (s->r[1])
        rt_flush_fast();
    else
        clear_fast((const u16 *)s->data, s->len / 2);
    return s->r[0];
}

void rt_invalidate(struct tstate *ts, u64 addr, u64 len) {
    u64 n = invalidate(ts, addr, len, IP_INVALID_CHANGED);
    if (n) __atomic_fetch_add(&dropped, n, __ATOMIC_RELAXED);
}
u64 rt_dropped_blocks(void) { return __atomic_load_n(&dropped, __ATOMIC_RELAXED); }
void rt_invalidate_traced(struct tstate *ts) { invalidate(ts, 0, rt_client_end(), IP_INVALID_TRACED); }
void rt_invalidate_written(struct tstate *ts, u64 addr, u64 len) { invalidate(ts, addr, len, IP_INVALID_WRITTEN); }

void rt_forget_block(struct tstate *ts, u64 key) { rt_th(ts)->stale_key = key; }

const struct ip_block *rt_block_of(u64 host) {
    u32 lo = 0, hi = rt.meta->n_blocks;
    bool cold = host >= IP_COLD_BASE && rt.meta->cold_used;
    while (lo < hi) {
        u32 mid = (lo + hi) / 2;
        const struct ip_block *b = &blocks[mid];
        if ((cold ? b->cold + (u64)b->cold_len : b->host + (u64)b->host_len) <= host)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == rt.meta->n_blocks || (cold ? blocks[lo].cold : blocks[lo].host) > host) return NULL;
    return &blocks[lo];
}

bool rt_point_of(const struct ip_block *b, u64 host, struct ip_point *point) {
    u64 off = host - b->cold < b->cold_len ? host - b->cold + b->host_len : host - b->host;
    const u8 *at = RT_META(u8, IP_META_POINTS) + b->points;
    struct ip_point p = {0};
    u32 n = 0, recorded = 0;
    for (; n < b->n_points; n++) {
        at = ip_point_take(at, &p);
        if (p.host_off > off) break;
        recorded |= p.flags & IP_PF_RECORDED;
        *point = p;
    }
    if (n) point->flags |= (u8)recorded;
    return n > 0;
}

/* The first byte of an instruction at pc that cannot be read, though a mapping
 * of code goes on to end; end if the mapping does not suffice; 0: there is none. */
static u64 unreadable(u64 pc, u64 end) {
    u8 byte;
    u64 last = pc + MAX_INSN - 1, border = RT_ROUND_DOWN(last, RT_PAGE);
    if (rt_copy_from(&byte, pc, 1) != 0) return pc;
    if (border > pc && border < end && rt_copy_from(&byte, border, 1) != 0) return border;
    return last < end ? 0 : end;
}

/* A jump, call or return went to no address of user space: to one of the kernel's, where nothing can be
 * fetched, or the instruction itself faults (SDM volume 1, 3.3.7.1). */
static void bad_target(struct tstate *ts, u64 key) {
    u64 pc = rt_pc(key);
    if (rt_vsyscall(ts, pc)) return;
    ts->pc = key;
    rt_hook_bad_jump(ts, pc, 0);
    if (!rt_canonical(pc)) {
        rt_signal_exception(ts, IP_VEC_GP, 0);
        return;
    }
    rt_signal_raise(ts, SIG_SEGV, SEGV_NO_MAP, pc);
}

/* Whether a call has looked at its stack, which cannot be written, before it finds that its target is no address.
 * Intel's CPUs have stored the return address by then, AMD's from family 0x19 on store nothing. */
static bool looks_at_stack(u64 at, u64 ret) {
    const struct rt_cpu *c = rt_cpu();
    if (!c->intel && !c->outer_first) return false;
    if (c->outer_first) rt_copy_from(&ret, at, 8); /* what is there stays; where nothing is, the store faults */
    return rt_copy_to(at, &ret, 8) != 0;
}

/* The same by the instruction of x, which has set RSP unless it was a call that has not pushed. */
static void bad_jump(struct tstate *ts, const struct ip_exit *x, u64 target, bool pushed) {
    u32 aux = x->kind_aux >> 8, kind = aux & 3, what = aux >> 2;
    u64 sp = ts->gpr[IP_RSP], back = kind == IP_JUMP_RET ? sp - 8 - what : pushed ? sp + 8 : sp, next = x->key + what;
    if (!rt_canonical(target)) {
        ts->pc = rt_key(target);
        rt_hook_bad_jump(ts, target, kind == IP_JUMP_CALL && !pushed ? next : 0);
        if (kind == IP_JUMP_CALL && !pushed && looks_at_stack(sp - 8, next)) {
            ts->pc = x->key;
            rt_signal_copied(ts, true);
            return;
        }
        if (kind != IP_JUMP_JMP) ts->gpr[IP_RSP] = back;
        if (kind == IP_JUMP_RET) {
            rt_hook_stack_changed(ts, sp, back);
            rt_hook_written(back, sp - back);
        }
        ts->pc = x->key;
        rt_signal_exception(ts, IP_VEC_GP, 0);
        return;
    }
    if (kind == IP_JUMP_CALL && !pushed) {
        ts->pc = x->key;
        if (rt_copy_to(sp - 8, &next, 8) != 0) {
            rt_signal_copied(ts, true); /* or once more from the start */
            return;
        }
        ts->gpr[IP_RSP] = sp - 8;
        rt_hook_written(sp - 8, 8);
    }
    bad_target(ts, target);
}

/* Nothing to execute at pc. */
static void bad_pc(struct tstate *ts, u64 pc) {
    struct rt_seg seg;
    u64 code[2], addr = pc;
    ts->pc = pc;
    if (pc == RT_CALL_RETURN && rt_call_return(ts)) return;
    if (rt_find_code(pc, code)) {
        /* The instruction goes on where nothing can be fetched; or could not when it was translated. */
        rt_invalidate(ts, pc, 1);
        addr = unreadable(pc, code[1]);
        if (addr && addr < code[1] && rt_find_code(addr, code)) {
            if (rt_find_seg(addr, &seg) && seg.ino == 0)
                rt_signal_raise(ts, SIG_SEGV, SEGV_NO_MAP, addr); /* a guard page: MADV_GUARD_INSTALL */
            else
                rt_signal_raise(ts, SIG_BUS, BUS_NO_ADDRESS, addr); /* beyond the end of a file */
            return;
        }
        if (!addr) return;
    }
    rt_hook_bad_jump(ts, pc, 0);
    bool mapped = rt_find_seg(addr, &seg);
    rt_signal_raise(ts, SIG_SEGV, mapped ? SEGV_NO_ACCESS : SEGV_NO_MAP, addr);
}

/* Set ts->target for ts->pc (which may carry mode bits); false: a fault changed ts->pc. */
static bool aim(struct tstate *ts, u32 exit_id) {
    u64 key = ts->pc;
    if (rt_pc(key) >> 47) {
        bad_target(ts, key);
        return false;
    }
    bool ask = exit_id || (key & IP_KEY_ONE) || rt_th(ts)->stale_key;
    u32 host = ask ? 0 : tt_lookup(key);
    if (!host) host = translate(ts, key, exit_id);
    if (!host) {
        bad_pc(ts, key & IP_KEY_PC);
        return false;
    }
    ts->target = host;
    ts->pc = key & ~(IP_KEY_ONE | IP_KEY_BARE);
    return true;
}

RT_NOINLINE void rt_watched(struct tstate *ts) { __asm__ volatile("" : : "r"(ts) : "memory"); }

static void look_out(struct tstate *ts) {
    u64 at = rt.chan->watch_pc;
    if (at && (ts->pc & IP_KEY_PC) == at) rt_watched(ts);
}

/* ---- Leaving for good ------------------------------------------------------------------ */

static void settle(struct tstate *ts, u32 exit_id) {
    struct rt_thread *th = rt_th(ts);
    for (;;) {
        gate(ts);
        if (rt.chan->evict && evict(ts)) exit_id = 0;
        note_flushes(ts);
        u64 before = rt.meta->generation;
        if (th->pending) {
            rt_signal_deliver(ts);
            exit_id = 0;
        }
        if (rt_debugged() && rt_debug_boundary(ts)) {
            exit_id = 0;
            continue;
        }
        if (rt_th(ts)->debug_past) {
            if (rt_pc(ts->pc) == rt_th(ts)->debug_past)
                ts->pc |= IP_KEY_ONE;
            else
                rt_th(ts)->debug_past = 0;
            exit_id = 0;
        }
        if (rt_th(ts)->trap_flag) {
            rt_trap_flag_enter(ts);
            ts->pc |= IP_KEY_ONE;
            exit_id = 0;
        }
        /* Blocks that others use are chained past their bindings. */
        if (rt_th(ts)->unwrapped && rt_call_is_unwrapped(ts)) {
            ts->pc |= IP_KEY_ONE;
            exit_id = 0;
        }
        bool aimed = aim(ts, exit_id);
        exit_id = 0;
        if (!aimed) continue;
        if (!flushing() && rt.meta->generation == before) break;
    }
    look_out(ts);
    rt_trace_no_call(ts); /* a stop from here on is of none */
}

/* call *%rax, or *%r11, without redirection (docs/spec/client-requests.md section 1). */
static void call_noredir(struct tstate *ts, u64 ret, u32 target) {
    u64 sp = ts->gpr[IP_RSP] - 8;
    if (rt_copy_to(sp, &ret, 8) < 0) {
        rt_signal_raise(ts, SIG_SEGV, SEGV_NO_MAP, sp);
        return;
    }
    rt_hook_written(sp, 8);
    ts->gpr[IP_RSP] = sp;
    if (rt.flags & IP_C_CALLSTACK) rt_callstack_push(ts, ret, sp);
    ts->pc = rt_key(ts->gpr[target]) | IP_KEY_NOREDIR;
}

static void trap(struct tstate *ts, const struct ip_exit *x) {
    u32 aux = x->kind_aux >> 8, vec = aux & 0xff, len = aux >> 8 & 15;
    ts->pc = x->key;
    switch (vec == IP_VEC_DB && (aux & IP_TRAP_INT) ? 0 : vec) { /* "int 1" has no gate, int1 needs none */
    case IP_VEC_BP:
        ts->pc = x->key + len;
        rt_signal_raise(ts, SIG_TRAP, SIC_KERNEL, 0);
        break;
    case IP_VEC_DB:
        ts->pc = x->key + len;
        rt_signal_int1(ts, len);
        break;
    case IP_VEC_OF:
        ts->pc = x->key + len;
        rt_signal_exception(ts, IP_VEC_OF, 0);
        break;
    default:
        /* No gate that user code may call: #GP names it (selector error code, IDT bit). */
        rt_signal_exception(ts, IP_VEC_GP, vec * 8 + 2);
        break;
    }
}

/* An exit of this kind means that the instruction is done, and was no system call. */
static bool completes(u32 kind) {
    return kind == IP_X_DIRECT || kind == IP_X_FAR || kind == IP_X_REQUEST || kind == IP_X_NOREDIR;
}

static void illegal(struct tstate *ts, u32 why) {
    if (why == IP_ILL_LONG) {
        rt_signal_exception(ts, IP_VEC_GP, 0);
        return;
    }
    if (why == IP_ILL_SYSENTER && rt_cpu()->intel)
        rt_die("the program executes sysenter (at 0x%lx), which returns to 32-bit code: not supported", rt_pc(ts->pc));
    if (rt.chan->shows & IP_SHOW_ILLEGAL) {
        struct ip_slot *s = rt_slot(ts);
        s->a[0] = rt_pc(ts->pc);
        s->len = 8 * rt_stack_trace(ts, (u64 *)(void *)s->data, (u32)rt.chan->num_callers);
        rt_request_python(ts, IP_R_ILLEGAL);
    }
    rt_signal_raise(ts, SIG_ILL, 2 /* ILL_ILLOPN */, rt_pc(ts->pc));
}

/* The exit at a check's place. */
static struct ip_exit check_exit(struct tstate *ts, u32 place) {
    const struct ip_block *b = rt_block_of(place);
    if (!b) rt_panic(ts, "no exit at 0x%x", place);
    u32 where = ((const u8 *)(u64)place)[IP_CHECK_WHERE];
    u64 key = where == IP_CHECK_ENTRY ? b->key : ip_pc_of(rt_pcs, b, where) | IP_KEY_NOREDIR;
    return (struct ip_exit){key | IP_KEY_TRACK, place, IP_X_DIRECT};
}

void rt_dispatch(struct tstate *ts) {
    struct rt_thread *th = rt_th(ts);
    u32 id = ts->exit_id, chain = 0;
    struct ip_exit x = {0};
    struct ip_insn insn;
    if (id != 0xffffffffu)
        x = id < IP_CACHE_BASE ? rt_exits[id] : check_exit(ts, id);
    else if (ts->pc >> 47 && (rt.flags & IP_C_JUMPS))
        x = rt_exits[ts->jump_exit];
    if ((x.kind_aux & 0xff) == IP_X_FAR) insn = *(const struct ip_insn *)x.key;
    th->exit_gen = rt.meta->generation;
    __atomic_store_n(&th->in_runtime, RT_IN_RUNTIME, __ATOMIC_SEQ_CST); /* the tables may be flushed now */
    if (x.kind_aux && id == 0xffffffffu) {
        bad_jump(ts, &x, ts->pc, true);
        settle(ts, 0);
        return;
    }
    if (id == 0xffffffffu) {
        u32 host;
        ts->pc = rt_key(ts->pc);
        u64 epoch = __atomic_load_n(&fast_epoch, __ATOMIC_SEQ_CST);
        rt.chan->counters[IP_N_MISSES]++;
        if (rt_steps(ts)) {
            if (th->trap_flag) rt_trap_flag_after(ts, true);
            settle(ts, 0); /* this block is not for the tables */
            return;
        }
        gate(ts);
        note_flushes(ts);
        if (!th->pending && (host = tt_lookup(ts->pc)) != 0) {
            fast_insert(ts->pc, host, epoch);
            ts->target = host;
            look_out(ts);
            return;
        }
        settle(ts, 0);
        if (!(ts->pc & MODE_BITS)) fast_insert(ts->pc, (u32)ts->target, epoch);
        return;
    }
    rt.chan->counters[IP_N_EXITS]++;
    u32 aux = x.kind_aux >> 8;
    u64 epoch = __atomic_load_n(&fast_epoch, __ATOMIC_SEQ_CST);
    ts->pc = x.key;
    bool trap_flag = rt_th(ts)->trap_flag;
    switch (x.kind_aux & 0xff) {
    case IP_X_DIRECT: chain = (rt.flags & IP_C_NO_CHAIN) || rt_steps(ts) ? 0 : id; break;
    case IP_X_SYSCALL: rt_syscall(ts, x.key + aux); break;
    case IP_X_SYSCALL32: rt_syscall32(ts, x.key + aux); break;
    case IP_X_FAR: rt_far(ts, &insn); break;
    case IP_X_TARGET: bad_jump(ts, &x, ts->acc_addr, false); break;
    case IP_X_REQUEST: rt_client_request(ts, x.key + aux); break;
    case IP_X_NOREDIR: call_noredir(ts, x.key + (aux & 0xff), aux & IP_NOREDIR_R11 ? IP_R11 : IP_RAX); break;
    case IP_X_ILLEGAL: illegal(ts, aux); break;
    case IP_X_FAULTPC: bad_pc(ts, x.key & IP_KEY_PC); break;
    case IP_X_TRAP: trap(ts, &x); break;
    case IP_X_STOP: rt_stop_after(ts); break;
    case IP_X_FULL: rt_hook_full(ts); break;
    case IP_X_BREAK: rt_debug_break(ts); break;
    case IP_X_STALE: rt_forget_block(ts, x.key); break; /* it has found other bytes than its own */
    default: rt_panic(ts, "unknown exit kind %u", x.kind_aux & 0xff);
    }
    if (trap_flag) rt_trap_flag_after(ts, completes(x.kind_aux & 0xff));
    u64 key = x.key;
    bool replaced = !rt_steps(ts) && (x.kind_aux & 0xff) == IP_X_STALE && !(key & MODE_BITS);
    settle(ts, chain);
    if (replaced && ts->pc == key) fast_insert(key, (u32)ts->target, epoch);
}

void rt_run(struct tstate *ts) {
    rt_th(ts)->in_runtime = RT_IN_RUNTIME;
    settle(ts, 0);
    rt_enter(ts);
}

/* ---- Slow paths ----------------------------------------------------------------------------- */

_Static_assert(IP_N_SLOW + IP_XS_ADDRESSES - IP_XS_LOAD < IP_N_LIGHT, "ORDER ip_exit_kind, ip_counter");

int rt_slow(struct tstate *ts) {
    const struct ip_exit *x = &rt_exits[ts->exit_id];
    struct rt_thread *th = rt_th(ts);
    u32 kind = x->kind_aux & 0xff;
    if (kind == IP_XS_WATCH) {
        th->in_runtime = RT_AT_EXIT;
        ts->target = x->patch;
        const struct ip_block *b = rt_block_of(x->patch);
        if (!rt_debug_accesses(ts, (const struct ip_insn *)x->key)) return 0;
        struct ip_point pt;
        if (rt_point_of(b, x->patch, &pt)) rt_hook_left(ts, b, &pt);
        th->in_runtime = RT_IN_RUNTIME;
        settle(ts, 0);
        return 1;
    }
    rt.chan->counters[IP_N_SLOW + kind - IP_XS_LOAD]++;
    th->in_runtime = RT_AT_EXIT; /* comes back into the block: not away for a flush */
    ts->target = x->patch;
    switch (kind) {
    case IP_XS_FPSAVE: rt_x87_saved(ts->acc_addr, x->kind_aux >> 8); return 0;
    case IP_XS_GSBASE: {
        u32 seg = x->kind_aux >> 8;
        u64 base = seg == IP_SEG_NONE ? IP_V_CONST - IP_V_DISP : rt_seg_base(ts, seg);
        sys2(__NR_arch_prctl, 0x1001 /* ARCH_SET_GS */, (long)base);
        return 0;
    }
    default: break;
    }
    if (rt_hook_slow(ts, x) == RT_SLOW_RESUME && !(th->debug_told[0] && rt_debug_begins_anew(ts, x))) return 0;
    th->in_runtime = RT_IN_RUNTIME;
    settle(ts, 0);
    return 1;
}
