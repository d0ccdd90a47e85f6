/* Client requests about V and A bits and about heap blocks that the runtime
 * answers by itself (docs/spec/client-requests.md sections 3 and 4). */
#include "runtime/seam.h"
#include "heap/heap.h"
#include "shadow/origin.h"
#include "tools/memcheck/client/memcheck.h"
#include "tools/memcheck/memcheck_abi.h"

#define MC_BASE 0x4D430000u
enum { RQ_COUNT_ERRORS = 0x1201, RQ_MALLOCLIKE = 0x1301, RQ_FREELIKE = 0x1302, RQ_RESIZE = 0x130b };
enum { VBITS_OK = 1, VBITS_UNADDR = 3 };

static void check_error(struct tstate *ts, int kind, u64 addr) {
    struct ip_error *e = rt_error_begin(ts, kind);
    e->addr = addr;
    if (kind == IP_E_CHECK_UNDEF) e->otag = origin_of_memory(ts, addr);
    rt_error_end(ts, e);
}

/* First byte that is not addressable, reported; 0 if all are. */
static u64 check_addressable(struct tstate *ts, u64 addr, u64 len) {
    u64 bad = len ? rt_shadow_first_unaddr(ts, addr, len) : 0;
    if (bad) check_error(ts, IP_E_CHECK_UNADDR, bad);
    return bad;
}

static u64 check_defined(struct tstate *ts, u64 addr, u64 len) {
    if (!len) return 0;
    u64 unaddr = rt_shadow_first_unaddr(ts, addr, len);
    u64 undef = 0;
    /* One error of each kind: the first undefined byte among the addressable. */
    if (!unaddr) {
        undef = rt_shadow_first_undef(addr, len);
    } else {
        for (u64 at = addr; at < addr + len && !undef; at++)
            if (!rt_shadow_first_unaddr(ts, at, 1)) undef = rt_shadow_first_undef(at, 1);
    }
    if (undef && (rt.flags & IP_C_UNDEF)) check_error(ts, IP_E_CHECK_UNDEF, undef);
    if (unaddr) check_error(ts, IP_E_CHECK_UNADDR, unaddr);
    if (unaddr && undef) return unaddr < undef ? unaddr : undef;
    return unaddr ? unaddr : undef;
}

static u64 get_vbits(struct tstate *ts, u64 src, u64 dst, u64 n) {
    if (rt_shadow_first_unaddr(ts, src, n) || rt_shadow_first_unaddr(ts, dst, n)) return VBITS_UNADDR;
    sh_copy(dst, sh_v(src), n);
    rt_shadow_set(dst, n, RT_SH_DEFINED);
    return VBITS_OK;
}

static u64 set_vbits(struct tstate *ts, u64 dst, u64 src, u64 n) {
    if (rt_shadow_first_unaddr(ts, src, n) || rt_shadow_first_unaddr(ts, dst, n)) return VBITS_UNADDR;
    sh_copy(sh_v(dst), src, n);
    return VBITS_OK;
}

static void define_if_addressable(struct tstate *ts, u64 addr, u64 len) {
    for (u64 at = addr; at < addr + len; at++)
        if (!rt_shadow_first_unaddr(ts, at, 1)) rt_shadow_set(at, 1, RT_SH_DEFINED);
}

static bool mapped(u64 addr, u64 len) {
    struct rt_seg s;
    while (len) {
        if (!rt_find_seg(addr, &s)) return false;
        u64 here = s.hi - addr;
        if (here >= len) return true;
        addr += here;
        len -= here;
    }
    return true;
}

bool mc_request(struct tstate *ts, u64 code, const u64 a[5], u64 *result) {
    switch (code) {
    case RQ_MALLOCLIKE:
        if (a[0]) rt_heap_malloclike(ts, a[0], a[1], a[2], a[3] != 0);
        break;
    case RQ_FREELIKE:
        if (a[0]) rt_heap_freelike(ts, a[0], a[1]);
        break;
    case RQ_RESIZE:
        if (a[0]) rt_heap_resize(ts, a[0], a[1], a[2], a[3]);
        break;
    case MC_BASE + IP_MC_MAKE_MEM_NOACCESS:
    case MC_BASE + IP_MC_MAKE_MEM_UNDEFINED:
    case MC_BASE + IP_MC_MAKE_MEM_DEFINED: {
        static const int state[3] = {RT_SH_NOACCESS, RT_SH_UNDEFINED, RT_SH_DEFINED};
        if (mapped(a[0], a[1])) rt_shadow_set(a[0], a[1], state[code - MC_BASE]);
        if (code - MC_BASE == IP_MC_MAKE_MEM_UNDEFINED) origin_by_request(ts, a[0], a[1]);
        *result = ~0ull;
        break;
    }
    case MC_BASE + IP_MC_MAKE_MEM_DEFINED_IF_ADDRESSABLE:
        define_if_addressable(ts, a[0], a[1]);
        *result = ~0ull;
        break;
    case MC_BASE + IP_MC_CHECK_MEM_IS_ADDRESSABLE: *result = check_addressable(ts, a[0], a[1]); break;
    case MC_BASE + IP_MC_CHECK_MEM_IS_DEFINED: *result = check_defined(ts, a[0], a[1]); break;
    case MC_BASE + IP_MC_GET_VBITS: *result = get_vbits(ts, a[0], a[1], a[2]); break;
    case MC_BASE + IP_MC_SET_VBITS: *result = set_vbits(ts, a[0], a[1], a[2]); break;
    case MC_BASE + IP_MC_RECORD_OVERLAP_ERROR: {
        char name[64];
        struct ip_error *e = rt_error_begin(ts, IP_E_OVERLAP);
        long n = rt_strncpy_from(name, a[0], sizeof name);
        rt_snprintf((char *)e->text, sizeof e->text, "%s", n >= 0 ? name : "???");
        e->aux[0] = a[2];
        e->aux[1] = a[1];
        e->aux[2] = a[3];
        rt_error_end(ts, e);
        break;
    }
    default: return false;
    }
    return true;
}
