/* interpose/abi/inline/points.h and pcs.h in an ordinary process. */
#include "abi/inline/pcs.h"
#include "abi/inline/points.h"

long pack_points(const struct ip_point *from, uint32_t n, uint8_t *out) {
    const struct ip_point none = {0}, *before = &none;
    uint8_t *at = out;
    for (uint32_t i = 0; i < n; before = &from[i++]) at = ip_point_put(at, before, &from[i]);
    return at - out;
}

long unpack_points(const uint8_t *from, uint32_t n, struct ip_point *out) {
    const uint8_t *at = from;
    struct ip_point p = {0};
    for (uint32_t i = 0; i < n; i++) {
        at = ip_point_take(at, &p);
        out[i] = p;
    }
    return at - from;
}

long pack_pcs(const uint64_t *from, uint32_t n, uint8_t *out) {
    uint8_t *at = ip_pcs_put_first(out, from[0]);
    for (uint32_t i = 1; i < n; i++) at = ip_pcs_put(at, from[i - 1], from[i]);
    return at - out;
}

uint64_t pc_of(const uint8_t *pcs, uint32_t n) {
    struct ip_block b = {0};
    return ip_pc_of(pcs, &b, n);
}
