/* Client requests: what the parts of this folder share. */
#ifndef INTERPOSE_REQUESTS_H
#define INTERPOSE_REQUESTS_H

#include "runtime/base/rt.h"

/* STACK_REGISTER, _DEREGISTER, _CHANGE (docs/spec/client-requests.md section 3): bounds in
 * any order, lo = lowest addressable byte.  Unknown ids are ignored. */
u64 rt_client_stack_register(u64 lo, u64 hi);
void rt_client_stack_deregister(u64 id);
void rt_client_stack_change(u64 id, u64 lo, u64 hi);

#endif
