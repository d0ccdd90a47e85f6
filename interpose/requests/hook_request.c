/* A hooked call (abi/hook.h): what the stub on the program's stack asks is answered by a function in Python. */
#include "abi/hook.h"
#include "requests/requests.h"
#include "runtime/core/errors.h"
#include "runtime/hooks.h"

#define TRACE_MAX 500

/* Words that may be read from addr on: what follows a stack need not be the program's to read. */
static u64 words_from(u64 addr) {
    u64 lo, hi;
    bool takes;
    struct rt_seg seg;
    if (!rt_hook_stack_region(addr, &lo, &hi, &takes) || hi <= addr) {
        if (!rt_find_seg(addr, &seg)) return 0;
        hi = seg.hi;
    }
    return (hi - addr) / 8;
}

u64 rt_hooked_call(struct tstate *ts, u64 frame) {
    struct ip_slot *s = rt_slot(ts);
    u64 again = IP_HOOK_DONE;
    u32 failed = 0;
    for (;;) {
        struct ip_hook_frame f;
        if (rt_copy_from(&f, frame, sizeof f) < 0) return IP_HOOK_LEAVE; /* no stub's request */
        memcpy(s->data, &f, sizeof f);
        s->len = sizeof f;
        if (again == IP_HOOK_TRACE && (rt.flags & IP_C_CALLSTACK))
            s->len += (u32)sizeof(u64) * rt_stack_trace(ts, (u64 *)(void *)(s->data + sizeof f), TRACE_MAX);
        s->a[0] = frame;
        s->a[2] = words_from(frame + IP_HOOK_STACK);
        s->a[3] = failed;
        s->a[4] = again;
        s->r[0] = IP_HOOK_LEAVE;
        s->r[1] = IP_HOOK_DONE;
        s->r[2] = 0;
        rt_request_python(ts, IP_R_HOOK);
        failed = rt_put_answer(s);
        again = s->r[1];
        if (again == IP_HOOK_DONE) return s->r[0];
    }
}
