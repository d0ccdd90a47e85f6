/* The six stages of any bytes, for tests and tools. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/space.h"
#include "jit/native_api.h"
#include "jit/transtab.h"

void ip_ask_cpu(struct ip_jit_opts *o) {
    o->bmi2 = __builtin_cpu_supports("bmi2") != 0;
    o->avx512 = __builtin_cpu_supports("avx512f") != 0;
    o->amd = __builtin_cpu_is("amd") != 0;
}

struct bytes_reader {
    const uint8_t *code;
    uint64_t pc;
    size_t n;
};

static int read_bytes(void *ctx, uint64_t pc, uint8_t *buf, int n) {
    const struct bytes_reader *r = ctx;
    if (pc < r->pc || pc >= r->pc + r->n) return 0;
    size_t left = (size_t)(r->pc + r->n - pc);
    if ((size_t)n > left) n = (int)left;
    memcpy(buf, r->code + (pc - r->pc), (size_t)n);
    return n;
}

struct shown {
    struct ublock b[3]; /* of stages 1 and 2, 3 and 4, 5 */
    struct ip_insn insn[UB_MAX_INSN];
    struct emitted em;
    const struct ublock *final;
    char why[200]; /* the verifier refused it */
};

static int show(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track, int stage,
                int max_insns, uint32_t host, struct shown *out) {
    struct bytes_reader br = {code, pc, n};
    struct ip_code_reader rd = {.read = read_bytes, .ctx = &br};
    struct ip_jit_opts o = {0};
    o.flags = flags;
    snprintf(o.tool, sizeof o.tool, "%s", tool);
    if (!ip_tool_pass(&o)) return -1;
    ip_ask_cpu(&o);
    o.avx512 = true; /* what is shown is the same on each CPU */
    for (int i = 0; i < 32; i++) o.sym[i] = IP_RT_BASE + 0x1000u + 16u * (unsigned)i;
    struct ublock *b = out->b;
    for (int i = 0; i < 3; i++) b[i].insn = out->insn;
    int r = 0;
    b[0].key = pc | (track ? IP_KEY_TRACK : 0);
    b[0].pc = pc;
    b[0].track = track != 0;
    ip_stage1_disassemble(&b[0], &rd, &o, max_insns);
    if (stage >= 2) ip_stage2_optimise(&b[0], &rd, &o);
    if (stage >= 3) ip_stage3_instrument(&b[0], &b[1], &o);
    if (stage >= 4) ip_stage4_cleanup(&b[1], &o);
    if (stage >= 5) ip_stage5_allocate(&b[1], &b[2], &o);
    out->final = stage <= 2 ? &b[0] : stage <= 4 ? &b[1] : &b[2];
    if (!out->final->overflow && !ip_verify(out->final, stage < 5 ? stage : 5, out->why, sizeof out->why)) return -2;
    if (stage >= 6) ip_stage6_emit(&b[2], &out->em, host, 0, &o);
    if (b[0].overflow || (stage >= 5 && b[2].overflow) || (stage >= 6 && out->em.overflow)) r = -1;
    return r;
}

/* Hex; a line begins at each host address where the guest's state changes its
 * place, with that address and the guest's pc. */
static int print_code(const struct ublock *b, const struct emitted *em, char *buf, int cap) {
    int r = 0, point = 0, column = 0;
    for (uint32_t i = 0; i < em->len && r < cap - 64; i++) {
        const struct ip_point *p = point < em->n_points ? &em->points[point] : NULL;
        if (p && p->host_off == i) {
            const struct ip_insn *last = &b->insn[b->n_insn - 1];
            uint64_t pc = p->guest_off < b->n_insn ? b->insn[p->guest_off].pc : last->pc + last->len;
            r += snprintf(buf + r, (size_t)(cap - r), "%s   0x%x (0x%llx):", i ? "\n" : "", em->place.host + i,
                          (unsigned long long)pc);
            point++;
            column = 0;
        }
        if (column == 16) {
            r += snprintf(buf + r, (size_t)(cap - r), "\n       ");
            column = 0;
        }
        r += snprintf(buf + r, (size_t)(cap - r), " %02x", em->code[i]);
        column++;
    }
    r += snprintf(buf + r, (size_t)(cap - r), "\n");
    return r;
}

int ip_show_stage(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track, int stage,
                  char *buf, int cap) {
    struct shown *s = calloc(1, sizeof *s);
    const struct emitted *em = &s->em;
    if (!s) return -1;
    int max = flags & IP_C_SINGLE_STEP ? 1 : block_insns(flags);
    int r = show(tool, code, n, pc, flags, track, stage, max, IP_CACHE_BASE, s);
    if (r == -2) snprintf(buf, (size_t)cap, "%s", s->why);
    if (r == 0 && stage < 6) r = ip_print_ublock(s->final, buf, cap);
    if (r == 0 && stage == 6) r = print_code(s->final, em, buf, cap);
    free(s->em.work);
    free(s);
    return r;
}

int ip_translate_bytes(const char *tool, const uint8_t *code, size_t n, uint64_t pc, uint64_t flags, int track,
                       int max_insns, uint32_t host, uint8_t *out, int cap) {
    struct shown *s = calloc(1, sizeof *s);
    const struct emitted *em = &s->em;
    if (!s) return -1;
    int r = show(tool, code, n, pc, flags, track, 6, max_insns, host, s);
    if (r == 0) {
        r = (int)em->len <= cap ? (int)em->len : -1;
        if (r > 0) memcpy(out, em->code, (size_t)r);
    }
    free(s->em.work);
    free(s);
    return r;
}
