/* Stage 6: blocks whose code is written so often that watching its page costs
 * more than looking whether the bytes are still those that were translated.
 */
#include "jit/asm.h"

#define CHUNK 4u

/* ecx -= value; jrcxz over the jmp: no flags touched. */
static void compare(struct writer *w, uint32_t value, uint32_t changed) {
    wn(w, "\x8d\x89", 2); /* lea ecx, [rcx - value] */
    if (!w->e->compare) w->e->compare = w->e->len;
    w4(w, -value);
    wn(w, "\xe3\x05", 2);
    w_jmp(w, w->host + changed);
}

/* mov ecx or movzx ecx, [rdx + at] */
static void load(struct writer *w, uint64_t at, unsigned n) {
    if (n == 4)
        w1(w, 0x8b);
    else
        wn(w, n == 2 ? "\x0f\xb7" : "\x0f\xb6", 2);
    w1(w, 0x8a);
    w4(w, (uint32_t)at);
}

void ip_emit_recheck(struct writer *w, uint32_t changed) {
    const struct ublock *b = w->b;
    uint64_t base = b->insn[0].pc;
    w_mov_imm(w, IP_RDX, base);
    for (int i = 0; i < b->n_insn; i++) {
        const struct ip_insn *in = &b->insn[i];
        if (in->len > sizeof in->bytes) continue; /* a client request's marker */
        for (unsigned k = 0; k < in->len;) {
            unsigned left = in->len - k, n = left >= CHUNK ? CHUNK : left >= 2 ? 2 : 1;
            uint32_t value = 0;
            memcpy(&value, in->bytes + k, n);
            load(w, in->pc + k - base, n);
            compare(w, value, changed);
            k += n;
        }
    }
}
