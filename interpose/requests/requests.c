/* Client requests (client-requests.md sections 1 to 3): those the runtime can
 * answer by itself; the rest go to the supervisor.
 */
#include <linux/errno.h>

#include "rt.h"

enum {
    RQ_RUNNING = 0x1001, RQ_DISCARD = 0x1002, RQ_REPLACES_MALLOC = 0x1003,
    RQ_CALL0 = 0x1101, RQ_CALL3 = 0x1104, RQ_COUNT_ERRORS = 0x1201,
    RQ_MALLOCLIKE = 0x1301, RQ_RESIZEINPLACE = 0x130b, RQ_FREELIKE = 0x1302,
    RQ_STACK_REGISTER = 0x1501, RQ_STACK_DEREGISTER, RQ_STACK_CHANGE,
    RQ_ADD_IFUNC_TARGET = 0x3104,
};
#define RQ_HEAP_BASE 0x49500000u /* internal: the replaced malloc family      */

bool rt_tool_request(struct tstate *ts, u64 code, const u64 args[5], u64 *result) __attribute__((weak));

static u64 next_stack_id = 1;

static bool client_call(struct tstate *ts, u32 n, const u64 args[5], u64 next_pc) {
    static const u8 where[] = {IP_RSI, IP_RDX, IP_RCX};
    if (!rt_call_guest(ts, args[0], next_pc)) return false;
    ts->gpr[IP_RDI] = ts->tid_guest;
    for (u32 i = 0; i < n; i++) ts->gpr[where[i]] = args[1 + i];
    return true;
}

void rt_client_request(struct tstate *ts, u64 next_pc) {
    u64 w[6], result = ts->gpr[IP_RDX];
    ts->pc = next_pc;
    if (rt_copy_from(w, ts->gpr[IP_RAX], sizeof w) < 0) return; /* default, as natively */
    u64 code = w[0];
    const u64 *args = w + 1;
    struct ip_slot *s = rt_slot(ts);

    if ((code & 0xffff0000u) == RQ_HEAP_BASE) {
        result = rt_heap_request(ts, code, args);
    } else if (code >= RQ_CALL0 && code <= RQ_CALL3) {
        if (client_call(ts, (u32)(code - RQ_CALL0), args, next_pc)) return;
    } else if (rt_tool_request && rt_tool_request(ts, code, args, &result)) {
        /* answered */
    } else {
        switch (code) {
        case RQ_RUNNING: result = 1; break;
        case RQ_DISCARD:
            rt_invalidate(ts, args[0], args[1] ? args[1] : 1);
            result = 0;
            break;
        case RQ_REPLACES_MALLOC: result = (rt.flags & IP_C_HEAP) != 0; break;
        case RQ_STACK_REGISTER:
            result = __atomic_fetch_add(&next_stack_id, 1, __ATOMIC_RELAXED);
            break;
        case RQ_STACK_DEREGISTER:
        case RQ_STACK_CHANGE: result = 0; break;
        default:
            s->a[0] = result;
            s->a[1] = next_pc;
            s->a[2] = ts->gpr[IP_RSP];
            rt_memcpy(s->data, w, sizeof w);
            s->len = sizeof w;
            rt_request_python(ts, IP_R_REQUEST);
            result = s->r[0];
            break;
        }
    }
    ts->gpr[IP_RDX] = result;
    ts->vgpr[IP_RDX] = 0;
    ts->umask &= ~(1ull << (IP_U_GPR0 + IP_RDX));
}
