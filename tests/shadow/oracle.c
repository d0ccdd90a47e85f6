/* Oracle for the tag operations: run an instruction on the CPU with its
 * undefined input bits flipped at random; an output bit that changes must be
 * marked undefined. */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>

#include "runtime/base/rt.h"

#include "random_words.h"

#define MEM_BYTES   256
#define STACK_BYTES 256
#define CONDITIONS  0x4500 /* of the x87 status word, but C1, which tells about rounding too */
#define FP_ENV      28

struct t_state {
    u64 gpr[16], rflags, pad, k[8];
    u8 zmm[32][64];
    u8 fp[FP_ENV + 8 * 10]; /* as fnsave stores it: st(0) to st(7) */
};
struct t_result {
    u64 cases, unsound, marked, needless;
    u64 what; /* of the first unsound bit: 1 gpr, 2 flags, 3 vec, 4 k, 5 memory, 7 x87 or MMX register, 8 status word */
    u64 index, bits, value;
};
extern u64 track_hosted_k[8], track_hosted_mmx[8];
extern unsigned track_hosted_top;
extern u16 track_hosted_exponents[8];
void t_run(struct t_state *s, const void *code);
extern char t_run_back[];
u8 tk_fl_of_bits(u64 v, u64 u);
void rt_track_insn(struct tstate *ts, const struct ip_insn *in);
int ip_decode(const uint8_t *code, size_t avail, uint64_t pc, struct ip_insn *out);

static void fill(u8 *p, unsigned n, u64 (*f)(void)) {
    for (unsigned i = 0; i < n; i += 8) {
        u64 w = f();
        memcpy(p + i, &w, 8);
    }
}

/* Which pair conditions hold: bit cc >> 1. */
static u8 conditions(u64 f) {
    bool c = f & 1, p = f & 4, z = f & 0x40, s = f & 0x80, o = f & 0x800;
    return (u8)(o | c << 1 | z << 2 | (c || z) << 3 | s << 4 | p << 5 | (s != o) << 6 | (z || s != o) << 7);
}

static u64 flip(u64 v, u64 u, unsigned round) {
    u64 how = round == 0 ? 0 : round == 1 ? ~0ull : rnd();
    if (round > 1 && rnd() % 3 == 0) how = v ^ (1ull << rnd() % 64);
    return (v & ~u) | (how & u);
}
static void flip_bytes(u8 *to, const u8 *v, const u8 *u, unsigned n, unsigned round) {
    for (unsigned i = 0; i < n; i += 8) {
        u64 a, b;
        memcpy(&a, v + i, 8);
        memcpy(&b, u + i, 8);
        a = flip(a, b, round);
        memcpy(to + i, &a, 8);
    }
}

static void note(struct t_result *r, u64 what, u64 index, u64 changed, u64 marked, u64 value) {
    if ((changed & ~marked) && !r->unsound++) {
        r->what = what;
        r->index = index;
        r->bits = changed & ~marked;
        r->value = value;
    }
}
static void precision(struct t_result *r, u64 changed, u64 marked) {
    r->marked += (u64)__builtin_popcountll(marked);
    r->needless += (u64)__builtin_popcountll(marked & ~changed);
}

/* ---- x87 and MMX registers ------------------------------------------------------------- */

static long double fp_get(const struct t_state *s, unsigned i) {
    long double x = 0;
    memcpy(&x, s->fp + FP_ENV + 10 * i, 10);
    return x;
}
static void fp_put(struct t_state *s, unsigned i, long double x) { memcpy(s->fp + FP_ENV + 10 * i, &x, 10); }
static u16 fp_word(const struct t_state *s) {
    u16 w;
    memcpy(&w, s->fp + 4, 2);
    return w;
}
static unsigned fp_top(const struct t_state *s) { return fp_word(s) >> 11 & 7; }

static u64 bits_of(long double x) {
    double d = (double)x;
    u64 u;
    memcpy(&u, &d, 8);
    return u;
}

/* A number that a double can hold; every exponent, and often small integers. */
static long double number(void) {
    u64 u = rnd();
    double d;
    switch (rnd() % 6) {
    case 0: return (long double)(i64)(rnd() % 200) - 100;
    case 1: return rnd() % 2 ? 0.0L : -0.0L;
    case 2: return (long double)(i64)u;
    case 3: u = (u & ~(0x7ffull << 52)) | (1023 - 8 + rnd() % 16) << 52; break;
    default: break;
    }
    memcpy(&d, &u, 8);
    return d != d ? 1.5L : d;
}

static long double fp_flipped(long double x, u64 u, unsigned round) {
    u64 v = flip(bits_of(x), u, round);
    double d;
    memcpy(&d, &v, 8);
    if (u == ~0ull && round) return number() * (1.0L + 0x1p-60L); /* what no double can hold, too */
    return d != d ? x : (long double)d;
}

/* Registers and conditions at random; V bits in vfp and *vfsw. */
static void fp_fill(struct t_state *s, const struct ip_insn *in, u64 vfp[8], u16 *vfsw) {
    unsigned top = in->mmx ? 0 : (unsigned)rnd() % 8;
    u16 control = 0x37f, status = (u16)(top << 11 | (rnd() & CONDITIONS)),
        tags = in->mmx ? 0 : 3u << 2 * ((top + 7) & 7);
    memset(s->fp, 0, sizeof s->fp);
    memcpy(s->fp, &control, 2);
    memcpy(s->fp + 4, &status, 2);
    memcpy(s->fp + 8, &tags, 2);
    *vfsw = rnd() % 2 ? 0 : (u16)rnd() & CONDITIONS;
    for (unsigned i = 0; i < 8; i++) {
        u64 v = word();
        vfp[i] = mask_word();
        if (in->mmx) {
            memcpy(s->fp + FP_ENV + 10 * i, &v, 8);
            memset(s->fp + FP_ENV + 10 * i + 8, 0xff, 2);
        } else {
            fp_put(s, i, number());
            if (i == 7) vfp[i] = 0; /* empty */
        }
    }
}

static void fp_flip(struct t_state *to, const struct t_state *from, const struct ip_insn *in, const u64 vfp[8],
                    u16 vfsw, unsigned round) {
    u16 word = (u16)flip(fp_word(from), vfsw, round);
    memcpy(to->fp + 4, &word, 2);
    for (unsigned i = 0; i < 8; i++)
        if (!vfp[i])
            ;
        else if (in->mmx)
            flip_bytes(to->fp + FP_ENV + 10 * i, from->fp + FP_ENV + 10 * i, (const u8 *)&vfp[i], 8, round);
        else
            fp_put(to, i, fp_flipped(fp_get(from, i), vfp[i], round));
}

/* Which bits of register number r differ, as V bits count them. */
static u64 fp_changed(const struct t_state *a, const struct t_state *b, const struct ip_insn *in, unsigned r,
                      u64 marked) {
    unsigned i = (r - fp_top(a)) & 7;
    long double x = fp_get(a, i), y = fp_get(b, i);
    u16 tags;
    u64 u, v;
    memcpy(&tags, b->fp + 8, 2);
    if (fp_top(a) != fp_top(b)) return 0; /* fptan and fsincos push nothing if the operand is too large */
    if (in->mmx) {
        memcpy(&u, &x, 8);
        memcpy(&v, &y, 8);
        return u ^ v;
    }
    if ((tags >> 2 * r & 3) == 3 || !memcmp(&x, &y, 10)) return 0;
    if (x != x || y != y || bits_of(x) == bits_of(y)) return marked ? marked : ~0ull;
    return bits_of(x) ^ bits_of(y);
}

/* mem: client memory of MEM_BYTES that [rdi] addresses; stack: STACK_BYTES, rsp in
 * its middle.  keep: GPRs that must stay defined, and from bit 16 on vector registers; set: values of the GPRs. */
int t_oracle(struct tstate *ts, const u8 *bytes, u64 len, u64 cases, u64 flips, u64 start, u64 mem, u64 stack, u64 keep,
             const u64 *set, struct t_result *r) {
    static u8 *code;
    struct ip_insn in;
    if (!code) code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (ip_decode(bytes, len, 0x401000, &in) != (int)len) return -1;
    memcpy(code, bytes, len);
    memcpy(code + len, "\xff\x25\0\0\0\0", 6);
    u64 back = (u64)t_run_back;
    memcpy(code + len + 6, &back, 8);
    memset(r, 0, sizeof *r);
    seed = start * 0x9e3779b97f4a7c15ull + 1;
    for (u64 c = 0; c < cases; c++) {
        static struct t_state base, u, first, got, changed;
        static u8 mv[MEM_BYTES], mu[MEM_BYTES], sv[STACK_BYTES], su[STACK_BYTES];
        static u8 m1[MEM_BYTES], s1[STACK_BYTES], mc[MEM_BYTES], sc[STACK_BYTES];
        memset(&u, 0, sizeof u);
        fill((u8 *)&base, sizeof base, word);
        fill((u8 *)&u, sizeof u, mask_word);
        if (rnd() % 4 == 0) /* equal operands are worth a look */
            memcpy(base.zmm[2], base.zmm[1], 64), base.gpr[IP_RBX] = base.gpr[IP_RAX];
        fill(mv, sizeof mv, word);
        fill(mu, sizeof mu, mask_word);
        fill(sv, sizeof sv, word);
        fill(su, sizeof su, mask_word);
        const u64 arith = 0x8c5;
        base.rflags = 0x202 | (rnd() & arith);
        u.rflags = rnd() % 2 ? 0 : rnd() & arith;
        for (unsigned g = 0; g < 16; g++)
            if (keep >> g & 1) {
                u.gpr[g] = 0;
                if (set[g]) base.gpr[g] = set[g] == 1 ? rnd() % 60 : set[g];
            }
        for (unsigned v = 0; v < 32; v++)
            if (keep >> (16 + v) & 1) memset(u.zmm[v], 0, 64);
        base.gpr[IP_RSP] = stack + STACK_BYTES / 2;
        u.gpr[IP_RSP] = 0;
        for (unsigned k = 0; k < 8; k++) u.k[k] = in.evex_k == k ? 0 : u.k[k];
        u64 vfp[8], fpc[8] = {0};
        u16 vfsw, fswc = 0;
        fp_fill(&base, &in, vfp, &vfsw);
        track_hosted_top = fp_top(&base);
        /* the helper's view */
        memcpy(ts->gpr, base.gpr, sizeof ts->gpr);
        ts->rflags = base.rflags;
        memcpy(ts->vgpr, u.gpr, sizeof ts->vgpr);
        ts->umask = 0;
        for (unsigned g = 0; g < 16; g++) ts->umask |= (u64)(u.gpr[g] != 0) << g;
        ts->vflags = tk_fl_of_bits(base.rflags, u.rflags);
        memcpy(ts->vk, u.k, sizeof ts->vk);
        memcpy(track_hosted_k, base.k, sizeof base.k);
        memcpy(ts->vvec, u.zmm, sizeof ts->vvec);
        memcpy(ts->vecsave, base.zmm, sizeof ts->vecsave);
        for (unsigned i = 0; i < 8; i++) {
            unsigned n = (track_hosted_top + i) & 7;
            ts->vmmx[n] = vfp[i];
            memcpy(&track_hosted_mmx[n], base.fp + FP_ENV + 10 * i, 8);
            memcpy(&track_hosted_exponents[n], base.fp + FP_ENV + 10 * i + 8, 2);
        }
        ts->vfsw = vfsw;
        memcpy((void *)mem, mv, sizeof mv);
        memcpy((void *)(mem + IP_V_CONST), mu, sizeof mu);
        memcpy((void *)stack, sv, sizeof sv);
        memcpy((void *)(stack + IP_V_CONST), su, sizeof su);
        ts->pc = in.pc;
        rt_track_insn(ts, &in);
        /* the CPU */
        memset(&changed, 0, sizeof changed);
        memset(mc, 0, sizeof mc);
        memset(sc, 0, sizeof sc);
        u8 fc = 0;
        for (u64 f = 0; f <= flips; f++) {
            got = base;
            memcpy((void *)mem, mv, sizeof mv);
            memcpy((void *)stack, sv, sizeof sv);
            if (f) {
                flip_bytes((u8 *)got.gpr, (u8 *)base.gpr, (u8 *)u.gpr, sizeof got.gpr, f - 1);
                flip_bytes((u8 *)got.k, (u8 *)base.k, (u8 *)u.k, sizeof got.k, f - 1);
                flip_bytes((u8 *)got.zmm, (u8 *)base.zmm, (u8 *)u.zmm, sizeof got.zmm, f - 1);
                fp_flip(&got, &base, &in, vfp, vfsw, (unsigned)f - 1);
                got.rflags = flip(base.rflags, u.rflags, f - 1);
                flip_bytes((u8 *)mem, mv, mu, sizeof mv, f - 1);
                flip_bytes((u8 *)stack, sv, su, sizeof sv, f - 1);
            }
            t_run(&got, code);
            if (!f) {
                first = got;
                memcpy(m1, (void *)mem, sizeof m1);
                memcpy(s1, (void *)stack, sizeof s1);
                continue;
            }
            for (unsigned i = 0; i < sizeof got; i++) ((u8 *)&changed)[i] |= ((u8 *)&got)[i] ^ ((u8 *)&first)[i];
            for (unsigned i = 0; i < 8; i++) fpc[i] |= fp_changed(&first, &got, &in, i, ts->vmmx[i]);
            fswc |= fp_word(&got) ^ fp_word(&first);
            fc |= conditions(got.rflags) ^ conditions(first.rflags);
            for (unsigned i = 0; i < sizeof mc; i++) mc[i] |= ((u8 *)mem)[i] ^ m1[i];
            for (unsigned i = 0; i < sizeof sc; i++) sc[i] |= ((u8 *)stack)[i] ^ s1[i];
        }
        r->cases++;
        for (unsigned g = 0; g < 16; g++) {
            note(r, 1, g, changed.gpr[g], ts->vgpr[g], base.gpr[g]);
            if (in.gpr_write >> g & 1) precision(r, changed.gpr[g], ts->vgpr[g]);
            if (!(ts->umask >> g & 1) != !ts->vgpr[g] && in.gpr_write >> g & 1) note(r, 9, g, 1, 0, 0);
        }
        note(r, 2, 0, fc, ts->vflags, base.rflags);
        if (in.fl_write) precision(r, fc, ts->vflags);
        for (unsigned k = 0; k < 8; k++) {
            note(r, 4, k, changed.k[k], ts->vk[k], base.k[k]);
            if (in.k_write >> k & 1) precision(r, changed.k[k], ts->vk[k]);
        }
        for (unsigned i = 0; i < 8; i++) {
            note(r, 7, i, fpc[i], ts->vmmx[i], 0);
            if (in.x87 || (in.mmx_write >> i & 1)) precision(r, fpc[i], ts->vmmx[i]);
        }
        note(r, 8, 0, fswc & CONDITIONS, ts->vfsw, fp_word(&base));
        for (unsigned v = 0; v < 32; v++)
            for (unsigned i = 0; i < 64; i++) {
                note(r, 3, v * 64 + i, changed.zmm[v][i], ts->vvec[v * 64 + i], base.zmm[v][i]);
                if (in.vec_write >> v & 1) precision(r, changed.zmm[v][i], ts->vvec[v * 64 + i]);
            }
        bool writes = in.mem.access & IP_ACC_W;
        for (unsigned i = 0; i < MEM_BYTES; i++) {
            u8 v = *(u8 *)(mem + i + IP_V_CONST);
            note(r, 5, i, mc[i], v, mv[i]);
            if (writes && v != mu[i]) precision(r, mc[i], v);
        }
        for (unsigned i = 0; i < STACK_BYTES; i++) note(r, 6, i, sc[i], *(u8 *)(stack + i + IP_V_CONST), sv[i]);
    }
    return 0;
}
