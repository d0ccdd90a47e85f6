/* Client requests about V and A bits and about heap blocks that the runtime
 * answers by itself (docs/spec/client-requests.md sections 3 and 4). */
#include "interpose/memcheck_numbers.h"
#include "interpose/numbers.h"
#include "runtime/seam.h"
#include "heap/heap.h"
#include "runtime/signals/sig.h"
#include "shadow/origin.h"
#include "tools/memcheck/client/memcheck.h"

enum { VBITS_OK = 1, VBITS_UNADDR = 3 };
#define REQUEST_BYTES 19 /* the instructions of a request */
#define PIECE         (1ull << 20)

static void check_error(struct tstate *ts, int kind, u64 addr) {
    struct ip_error *e = rt_error_begin(ts, kind);
    e->addr = addr;
    if (kind == MC_E_CHECK_UNDEF) e->otag = origin_of_memory(ts, addr);
    rt_error_end(ts, e);
}

/* First byte that is not addressable, reported; 0 if all are. */
static u64 check_addressable(struct tstate *ts, u64 addr, u64 len) {
    u64 bad;
    if (!rt_shadow_unaddr(ts, addr, len, &bad)) return 0;
    check_error(ts, MC_E_CHECK_UNADDR, bad);
    return bad;
}

/* One error of each kind: the first unaddressable byte, and the first undefined one before it. */
static u64 check_defined(struct tstate *ts, u64 addr, u64 len) {
    u64 unaddr, undef;
    bool no_access = rt_shadow_unaddr(ts, addr, len, &unaddr);
    bool no_value = rt_shadow_undef(addr, no_access ? unaddr - addr : len, &undef);
    if (no_value && (rt.flags & IP_C_UNDEF)) check_error(ts, MC_E_CHECK_UNDEF, undef);
    if (no_access) check_error(ts, MC_E_CHECK_UNADDR, unaddr);
    return no_value ? undef : no_access ? unaddr : 0;
}

static bool both_addressable(struct tstate *ts, u64 a, u64 b, u64 n) {
    u64 bad;
    return !rt_shadow_unaddr(ts, a, n, &bad) && !rt_shadow_unaddr(ts, b, n, &bad);
}

/* What is addressable may still be protected, so that the buffer is accessed as memory that may fault. */
static u64 get_vbits(struct tstate *ts, u64 src, u64 dst, u64 n) {
    if (!both_addressable(ts, src, dst, n) || rt_copy_to(dst, (const void *)sh_v(src), n) < 0) return VBITS_UNADDR;
    rt_shadow_set(dst, n, RT_SH_DEFINED);
    return VBITS_OK;
}

static u64 set_vbits(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (!both_addressable(ts, src, dst, n) || rt_copy_from((void *)sh_v(dst), src, n) < 0) return VBITS_UNADDR;
    return VBITS_OK;
}

/* A signal that no handler waits for: it may end or stop the process. */
static bool must_leave(struct tstate *ts) {
    const struct rt_thread *th = rt_th(ts);
    return th->pending_sig && sig_table_get(ts, (int)th->pending_sig).handler == SIGH_DFL;
}

/* Piece by piece, so that memory which nobody has touched stays so.  False: a signal wants to be heard. */
static bool define_if_addressable(struct tstate *ts, u64 addr, u64 len) {
    struct rt_seg seg;
    u64 end = addr + len < addr ? ~0ull : addr + len, bad, stop;
    for (u64 at = addr; at < end && rt_next_seg(at, &seg) && seg.lo < end; at = seg.hi) {
        u64 hi = seg.hi < end ? seg.hi : end;
        for (u64 lo = at > seg.lo ? at : seg.lo, next; lo < hi; lo = next) {
            if (must_leave(ts)) return false;
            next = RT_ROUND_DOWN(lo, PIECE) + PIECE;
            if (next > hi) next = hi;
            for (; rt_shadow_undef_only(ts, lo, next - lo, &bad); lo = stop) {
                if (!rt_shadow_unaddr(ts, bad, next - bad, &stop)) stop = next;
                rt_shadow_set(bad, stop - bad, RT_SH_DEFINED);
            }
        }
    }
    return true;
}

bool mc_request(struct tstate *ts, u64 code, const u64 a[5], u64 *result) {
    switch (code) {
    case INTERPOSE_RQ_MALLOCLIKE_BLOCK:
        if (a[0]) rt_heap_malloclike(ts, a[0], a[1], a[2], a[3] != 0);
        break;
    case INTERPOSE_RQ_FREELIKE_BLOCK:
        if (a[0]) rt_heap_freelike(ts, a[0], a[1]);
        break;
    case INTERPOSE_RQ_RESIZEINPLACE_BLOCK:
        if (a[0] && rt_heap_resize(ts, a[0], a[1], a[2], a[3]) && a[2] > a[1])
            origin_by_heap(ts, a[0] + a[1], a[2] - a[1]);
        break;
    case INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS:
    case INTERPOSE_RQ_MC_MAKE_MEM_UNDEFINED:
    case INTERPOSE_RQ_MC_MAKE_MEM_DEFINED: {
        static const int state[3] = {RT_SH_NOACCESS, RT_SH_UNDEFINED, RT_SH_DEFINED};
        rt_shadow_set_mapped(a[0], a[1], state[code - INTERPOSE_RQ_MC_MAKE_MEM_NOACCESS]);
        if (code == INTERPOSE_RQ_MC_MAKE_MEM_UNDEFINED) origin_by_request(ts, a[0], a[1]);
        *result = ~0ull;
        break;
    }
    case INTERPOSE_RQ_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE:
        if (define_if_addressable(ts, a[0], a[1]))
            *result = ~0ull;
        else
            ts->pc -= REQUEST_BYTES; /* once more, should the process go on */
        break;
    case INTERPOSE_RQ_MC_CHECK_MEM_IS_ADDRESSABLE: *result = check_addressable(ts, a[0], a[1]); break;
    case INTERPOSE_RQ_MC_CHECK_MEM_IS_DEFINED: *result = check_defined(ts, a[0], a[1]); break;
    case INTERPOSE_RQ_MC_GET_VBITS: *result = get_vbits(ts, a[0], a[1], a[2]); break;
    case INTERPOSE_RQ_MC_SET_VBITS: *result = set_vbits(ts, a[0], a[1], a[2]); break;
    case INTERPOSE_RQ_MC_RECORD_OVERLAP_ERROR: {
        char name[64];
        struct ip_error *e = rt_error_begin(ts, MC_E_OVERLAP);
        long n = rt_strncpy_from(name, a[0], sizeof name);
        rt_snprintf((char *)e->text, sizeof e->text, "%s", n >= 0 ? name : "???");
        e->aux[0] = a[2];
        e->aux[1] = a[1];
        e->aux[2] = a[3];
        rt_error_end(ts, e);
        break;
    }
    case INTERPOSE_RQ_MC_ENABLE_ADDR_ERROR_REPORTING_IN_RANGE: *result = mc_ignore_range(ts, a[0], a[1], false); break;
    case INTERPOSE_RQ_MC_DISABLE_ADDR_ERROR_REPORTING_IN_RANGE: *result = mc_ignore_range(ts, a[0], a[1], true); break;
    case INTERPOSE_RQ_MC_IGNORED_BY_OPTION: break; /* asked by us, never by the program */
    case INTERPOSE_RQ_CLO_CHANGE: mc_options_changed(); return false;
    default: return rt_heap_pool(ts, code, a, result);
    }
    return true;
}
