/* Stage 6: blocks whose code is written so often that watching its page costs
 * more than looking whether the bytes are still those that were translated.
 */
#include <string.h>

#include "jit/emit.h"

#define CHUNK 4u

/* ecx -= value; jrcxz over the jmp: no flags touched. */
static void compare(struct em *m, uint32_t value, uint32_t changed) {
    struct writer *w = &m->w;
    put_lea(w, 4, IP_RCX, addr_wide(IP_RCX, -(int64_t)value));
    if (!m->e->compare) m->e->compare = w->len - 4;
    put_jrcxz(w, JMP_BYTES);
    put_jmp(w, w->base + changed);
}

/* n bytes of code to ecx. */
static void load(struct writer *w, uint64_t distance, unsigned n) {
    struct uaddr at = addr_wide(IP_RDX, (int64_t)distance);
    if (n == 4)
        put_load(w, 4, IP_RCX, at);
    else
        put_load_zx(w, (int)n, IP_RCX, at);
}

static void compare_all(struct em *m, uint32_t changed) {
    const struct ublock *b = m->b;
    uint64_t base = b->insn[0].pc;
    put_mov_imm(&m->w, IP_RDX, base);
    for (int i = 0; i < b->n_insn; i++) {
        const struct ip_insn *in = &b->insn[i];
        if (in->len > sizeof in->bytes) continue; /* a client request's marker */
        for (unsigned k = 0; k < in->len;) {
            unsigned left = in->len - k, n = left >= CHUNK ? CHUNK : left >= 2 ? 2 : 1;
            uint32_t value = 0;
            memcpy(&value, in->bytes + k, n);
            load(&m->w, in->pc + k - base, n);
            compare(m, value, changed);
            k += n;
        }
    }
}

void em_recheck(struct em *m, uint32_t stale) {
    save_reg(&m->w, IP_RCX);
    save_reg(&m->w, IP_RDX);
    em_point(m, 0, RCX_RDX, IP_PF_RECHECK);
    compare_all(m, stale);
    em_point(m, 0, RCX_RDX, 0);
    restore_reg(&m->w, IP_RCX);
    restore_reg(&m->w, IP_RDX);
}
