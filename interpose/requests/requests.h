/* Client requests: what the parts of this folder share. */
#ifndef INTERPOSE_REQUESTS_H
#define INTERPOSE_REQUESTS_H

#include "runtime/seam.h"

/* STACK_REGISTER, _DEREGISTER, _CHANGE (docs/spec/client-requests.md section 3): bounds in
 * any order, lo = lowest addressable byte.  Unknown ids are ignored. */
u64 rt_client_stack_register(u64 lo, u64 hi);
void rt_client_stack_deregister(u64 id);
void rt_client_stack_change(u64 id, u64 lo, u64 hi);

/* ---- requests.c, guest_call.c ------------------------------------------------------ */
/* Address of a function of the program by its symbol, 0 if there is none. */
u64 rt_find_function(struct tstate *ts, const char *name);

/* The answer of a request: RDX, defined. */
static inline void rt_request_result(struct tstate *ts, u64 result) {
    ts->gpr[IP_RDX] = result;
    ts->vgpr[IP_RDX] = 0;
    ts->umask &= ~(1ull << (IP_U_GPR0 + IP_RDX));
}

/* The bytes of an answer for guest memory; how many of the writes failed. */
u32 rt_put_answer(const struct ip_slot *s);
u32 rt_put(const u8 *data, u64 len);

/* ---- standing.c --------------------------------------------------------------------- */
/* What an answer that stands is about, as it was before the request. */
struct rt_state {
    u64 age, errors;
};
struct rt_state rt_state_now(void);
/* Has such a request been answered so that it still holds?  Then that is done again. */
bool rt_standing_answer(const u64 words[6], struct rt_state now, u64 *result);
void rt_keep_answer(const u64 words[6], struct rt_state then, const struct ip_slot *s);
/* Does the supervisor know already that this resolver chose this target? */
bool rt_choice_is_told(u64 resolver, u64 target, struct rt_state now);
void rt_choice_told(u64 resolver, u64 target, struct rt_state then);

/* ---- hook_request.c ---------------------------------------------------------------- */
/* A hooked call whose frame (abi/hook.h) is there asks what to do: enum ip_hook_answer. */
u64 rt_hooked_call(struct tstate *ts, u64 frame);

#endif
