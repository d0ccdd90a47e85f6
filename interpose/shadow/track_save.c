/* Values of the guest's vector, mask and MMX registers.
 *
 * The runtime is built without vector instructions, so while it runs these
 * registers still hold what the guest left there.  A hosted build (tests) takes
 * them from memory instead.
 */
#include "runtime/base/vectors.h"
#include "shadow/track.h"

/* Values are fetched when a rule asks for them, so no one needs to save them ahead. */
bool rt_track_needs_vec(const struct ip_insn *in) {
    (void)in;
    return false;
}

#ifdef TRACK_HOSTED

u64 track_hosted_k[8], track_hosted_mmx[8];
const u8 *tk_vec_value(struct tk *t, unsigned r) { return t->ts->vecsave + 64 * r; }
u64 tk_k_value(struct tk *t, unsigned r) {
    (void)t;
    return track_hosted_k[r];
}
u64 tk_mmx_value(struct tk *t, unsigned r) {
    (void)t;
    return track_hosted_mmx[r];
}

#else

const u8 *tk_vec_value(struct tk *t, unsigned r) {
    u8 *p = t->ts->vecsave + 64 * r;
    rt_vector(p, r);
    return p;
}

u64 tk_k_value(struct tk *t, unsigned r) {
    (void)t;
    return rt_mask(r);
}

/* Not by movq, which would make all of the x87 stack valid: the instruction may
 * yet fault.  fxsave stores the registers in the order of the stack. */
u64 tk_mmx_value(struct tk *t, unsigned r) {
    u8 image[512] __attribute__((aligned(16)));
    u64 v;
    u16 status;
    (void)t;
    __asm__ volatile("fxsave64 %0" : "=m"(image));
    rt_memcpy(&status, image + 2, 2);
    rt_memcpy(&v, image + 32 + 16 * ((r - (status >> 11)) & 7), 8);
    return v;
}

#endif
