/* Precise state, packed: the translator notes it, the client unpacks what is before a host address.
 *
 * A point is told by what is new about it, most often in two bytes: IP_POINT_*, with the place of its flags in a
 * table; bytes from the point before, or 255 and the offset (2); then, if the first byte says so, the number of the
 * guest instruction (1), the spilled registers (2) and flags that are in no table (1).
 */
#ifndef INTERPOSE_POINTS_H
#define INTERPOSE_POINTS_H

#include <stdint.h>

#include "abi/meta.h"

/* Those of blocks with shadow; what else there is takes a byte more. */
static const uint8_t ip_point_flags[IP_POINT_FLAGS] = {
    0,
    IP_PF_BOUNDARY,
    IP_PF_GUEST,
    IP_PF_GUEST | IP_PF_BOUNDARY,
    IP_PF_SHADOW,
    IP_PF_COMMITTED,
    IP_PF_SHADOW | IP_PF_EARLY,
};

/* p: the point before, and then the one at at (all zero before the first).  Returns where the next one is. */
static inline const uint8_t *ip_point_take(const uint8_t *at, struct ip_point *p) {
    uint8_t what = *at++, distance = *at++;
    if (distance != IP_POINT_FAR) {
        p->host_off = (uint16_t)(p->host_off + distance);
    } else {
        p->host_off = (uint16_t)(at[0] | at[1] << 8);
        at += 2;
    }
    if (what & IP_POINT_NEXT) p->guest_off++;
    if (what & IP_POINT_INSN) p->guest_off = *at++;
    if (what & IP_POINT_SPILLED) {
        p->spilled = (uint16_t)(at[0] | at[1] << 8);
        at += 2;
    }
    what &= IP_POINT_FLAGS;
    p->flags = what < IP_POINT_FLAGS ? ip_point_flags[what] : *at++;
    return at;
}

/* Behind the point before (all zero if it is the first).  Returns where the next one goes. */
static inline uint8_t *ip_point_put(uint8_t *at, const struct ip_point *before, const struct ip_point *p) {
    uint8_t *what = at++;
    unsigned distance = (unsigned)p->host_off - before->host_off, place = 0;
    while (place < IP_POINT_FLAGS && ip_point_flags[place] != p->flags) place++;
    *what = (uint8_t)place;
    if (distance < IP_POINT_FAR) {
        *at++ = (uint8_t)distance;
    } else {
        *at++ = IP_POINT_FAR;
        *at++ = (uint8_t)p->host_off;
        *at++ = (uint8_t)(p->host_off >> 8);
    }
    if (p->guest_off == before->guest_off + 1) {
        *what |= IP_POINT_NEXT;
    } else if (p->guest_off != before->guest_off) {
        *what |= IP_POINT_INSN;
        *at++ = p->guest_off;
    }
    if (p->spilled != before->spilled) {
        *what |= IP_POINT_SPILLED;
        *at++ = (uint8_t)p->spilled;
        *at++ = (uint8_t)(p->spilled >> 8);
    }
    if (place == IP_POINT_FLAGS) *at++ = p->flags;
    return at;
}

#endif
