/* Goes over code with the decoder and picks one instance of each encoding.
 *
 * An encoding is the instruction's bytes without 4-byte displacements, branch
 * targets and immediates of 4 or 8 bytes, and without 1-byte displacements
 * that nothing scales (EVEX scales them).
 */
#include "jit/x86_decode.h"

#include <string.h>

static uint64_t encoding_hash(const struct ip_insn *in) {
    uint8_t b[16];
    uint64_t h = 0xcbf29ce484222325ull;
    memcpy(b, in->bytes, 16);
    if (in->disp_len >= 4 || (in->disp_len == 1 && in->enc != IP_ENC_EVEX)) memset(b + in->off_disp, 0, in->disp_len);
    if (in->imm_len >= 4 || (in->imm_len && (in->flow == IP_F_JCC || in->flow == IP_F_JMP || in->flow == IP_F_CALL)))
        memset(b + in->off_imm, 0, in->imm_len);
    for (int i = 0; i < in->len; i++) h = (h ^ b[i]) * 0x100000001b3ull;
    h ^= h >> 29;
    h *= 0x9e3779b97f4a7c15ull;
    return h ? h : 1;
}

/* Lengths of the instructions that begin in [0, stop) into lens (0: none begins
 * there, or it is invalid and one byte is skipped); offsets of new encodings
 * into fresh.  seen: hash set of size slots, a power of two.  Returns the
 * number of new ones. */
size_t sweep(const uint8_t *code, size_t size, size_t stop, uint64_t pc, uint8_t *lens, uint64_t *seen, size_t slots,
             uint32_t *fresh) {
    struct ip_insn in;
    size_t n = 0;
    for (size_t at = 0; at < stop;) {
        int len = ip_decode(code + at, size - at, pc + at, &in);
        if (len <= 0) {
            at++;
            continue;
        }
        lens[at] = (uint8_t)len;
        uint64_t h = encoding_hash(&in);
        size_t slot = h & (slots - 1);
        while (seen[slot] && seen[slot] != h) slot = (slot + 1) & (slots - 1);
        if (!seen[slot]) {
            seen[slot] = h;
            fresh[n++] = (uint32_t)at;
        }
        at += (size_t)len;
    }
    return n;
}
