/* Values of the guest's vector, mask, MMX and x87 registers.
 *
 * The runtime is built without vector instructions, so while it runs these
 * registers still hold what the guest left there.  A hosted build (tests) takes
 * them from memory instead.
 */
#include "runtime/base/vectors.h"
#include "shadow/track_x87.h"

/* Values are fetched when a rule asks for them, so no one needs to save them ahead. */
bool rt_track_needs_vec(const struct ip_insn *in) {
    (void)in;
    return false;
}

#ifdef TRACK_HOSTED

u64 track_hosted_k[8], track_hosted_mmx[8];
unsigned track_hosted_top;
u16 track_hosted_exponents[8];
unsigned tk_x87_top(void) { return track_hosted_top; }
unsigned tk_x87_exponents(u16 exponents[8]) {
    memcpy(exponents, track_hosted_exponents, sizeof track_hosted_exponents);
    return track_hosted_top;
}
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

/* The image that fxsave stores: the status word, and the registers in the order of the stack. */
static unsigned image_of(u8 image[512]) {
    u16 status;
    __asm__ volatile("fxsave64 %0" : "=m"(*(u8(*)[512])image));
    memcpy(&status, image + 2, 2);
    return status >> 11 & 7;
}

unsigned tk_x87_top(void) {
    u16 status;
    __asm__ volatile("fnstsw %0" : "=m"(status));
    return status >> 11 & 7;
}

unsigned tk_x87_exponents(u16 exponents[8]) {
    u8 image[512] __attribute__((aligned(16)));
    unsigned top = image_of(image);
    for (unsigned i = 0; i < 8; i++) memcpy(&exponents[(top + i) & 7], image + 32 + 16 * i + 8, 2);
    return top;
}

/* Not by movq, which would make all of the x87 stack valid: the instruction may
 * yet fault.  fxsave stores the registers in the order of the stack. */
u64 tk_mmx_value(struct tk *t, unsigned r) {
    u8 image[512] __attribute__((aligned(16)));
    unsigned top = image_of(image);
    u64 v;
    (void)t;
    memcpy(&v, image + 32 + 16 * ((r - top) & 7), 8);
    return v;
}

#endif
