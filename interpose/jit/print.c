/* Text of UCode: what --trace-flags and interpose.jit.stages() print. */
#include <stdarg.h>
#include <stdio.h>

#include "abi/tstate.h"
#include "jit/ucode.h"
#include "jit/x86_decode.h"

static const char *const gpr_name[] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                       "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
static const char *const cc_name[] = {"o", "no", "b", "nb", "z", "nz", "be", "nbe",
                                      "s", "ns", "p", "np", "l", "nl", "le", "nle"};

struct out {
    char *buf;
    int cap, len;
};

static void put(struct out *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void put(struct out *o, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    int room = o->cap - o->len;
    int n = vsnprintf(o->buf + o->len, room > 0 ? (size_t)room : 0, fmt, ap);
    va_end(ap);
    if (n > 0) o->len += n < room ? n : (room > 0 ? room - 1 : 0);
}

static const char *seg_text(unsigned seg) { return seg == IP_SEG_FS ? "fs:" : seg == IP_SEG_GS ? "gs:" : ""; }

static void put_addr(struct out *o, const struct uaddr *m) {
    if (m->base == IP_REG_RIP) {
        put(o, "(0x%llx)", (unsigned long long)m->rip_target);
        return;
    }
    if (m->disp < 0)
        put(o, "-0x%llx", (unsigned long long)-m->disp);
    else if (m->disp)
        put(o, "0x%llx", (unsigned long long)m->disp);
    put(o, "(");
    if (m->base < 16) put(o, "%%%s", gpr_name[m->base]);
    if (m->index < 16) put(o, ",%%%s,%d", gpr_name[m->index], m->scale);
    put(o, ")");
}

_Static_assert(IP_U_GPR0 == 0 && IP_U_MMX0 > IP_U_REDZONE && IP_U_VEC0 == IP_U_MMX0 + 8, "ORDER IP_U_*");

static void put_mask(struct out *o, uint64_t set) {
    const char *sep = "";
    put(o, "{");
    for (int i = 0; i < 64; i++) {
        if (!(set >> i & 1)) continue;
        if (i < 16)
            put(o, "%s%s", sep, gpr_name[i]);
        else if (i == IP_U_FLAGS)
            put(o, "%sflags", sep);
        else if (i == IP_U_K)
            put(o, "%sk", sep);
        else if (i == IP_U_FSW)
            put(o, "%sfsw", sep);
        else if (i == IP_U_TESTED)
            put(o, "%stested", sep);
        else if (i == IP_U_TAKES)
            put(o, "%stakes", sep);
        else if (i == IP_U_REDZONE)
            put(o, "%sredzone", sep);
        else if (i >= IP_U_VEC0)
            put(o, "%sv%d", sep, i - IP_U_VEC0);
        else
            put(o, "%smm%d", sep, i - IP_U_MMX0);
        sep = " ";
    }
    put(o, "}");
}

static void put_guest(struct out *o, const struct ip_insn *in) {
    put(o, "%s", ip_mnem_name(in->mnem));
    const char *sep = " ";
    for (int i = 0; i < in->n_ops; i++) {
        const struct ip_operand *p = &in->ops[i];
        switch (p->kind) {
        case IP_OP_GPR: put(o, "%s%%%s:%u", sep, gpr_name[p->reg & 15], p->size); break;
        case IP_OP_VEC: put(o, "%sv%u:%u", sep, p->reg, p->size); break;
        case IP_OP_MEM: {
            struct uaddr a;
            uaddr_from_mem(&a, &in->mem);
            put(o, "%s%s", sep, seg_text(in->mem.seg));
            put_addr(o, &a);
            put(o, ":%u", p->size);
            break;
        }
        case IP_OP_IMM: put(o, "%s$0x%llx", sep, (unsigned long long)in->imm); break;
        case IP_OP_REL: put(o, "%s0x%llx", sep, (unsigned long long)in->target); break;
        default: put(o, "%sop%u.%u", sep, p->kind, p->reg); break;
        }
        sep = ", ";
    }
    if (in->fl_read & IP_FL_ARITH) put(o, "  (-r%03x)", in->fl_read & IP_FL_ARITH);
    if (in->fl_write & IP_FL_ARITH) put(o, "  (-w%03x)", in->fl_write & IP_FL_ARITH);
}

int ip_print_ublock(const struct ublock *b, char *buf, int cap) {
    struct out o = {buf, cap, 0};
    int last = -1;
    if (cap > 0) buf[0] = 0;
    for (int k = 0; k < b->n_u; k++) {
        const struct uinstr *u = &b->u[k];
        if (u->insn != last) {
            const struct ip_insn *in = &b->insn[u->insn];
            put(&o, "      0x%llx:  ", (unsigned long long)in->pc);
            put_guest(&o, in);
            put(&o, "\n");
            last = u->insn;
        }
        put(&o, "   %3d: %-8s", k, ip_uops[u->op].text);
        switch (u->op) {
        case U_INSN:
            put_guest(&o, &b->insn[u->insn]);
            if (u->via_t) put(&o, "  via [t0]");
            break;
        case U_SEGEA:
            put(&o, "t0 = %s", seg_text(u->seg));
            put_addr(&o, &u->m);
            break;
        case U_LDCHK:
        case U_EARLY:
        case U_STCHK:
        case U_TMEM:
        case U_STKDEF:
        case U_STKUND:
            put(&o, "V%u ", u->size);
            put_addr(&o, &u->m);
            break;
        case U_RECORD: put(&o, "%u words, %u insns", (unsigned)(u->set >> 35), (unsigned)(uint16_t)u->set); break;
        case U_RECWORD: put(&o, "%%%s at -0x%llx", gpr_name[u->m.base & 15], (unsigned long long)u->imm); break;
        case U_RECSOME: put(&o, "from -0x%llx", (unsigned long long)u->imm); break;
        case U_RECZF: put(&o, "ZF at -0x%llx", (unsigned long long)u->imm); break;
        case U_RECADDR:
            put_addr(&o, &u->m);
            put(&o, " at -0x%llx", (unsigned long long)u->imm);
            if (u->set) put(&o, ", -0x%llx", (unsigned long long)u->set);
            break;
        case U_ARRIVE: put(&o, "where %x", (unsigned)u->imm); break;
        case U_RUN: put(&o, "%u insns", (unsigned)u->set & 0xff); break;
        case U_TURNS: break;
        case U_UMASK:
        case U_TMASK: put_mask(&o, u->set); break;
        case U_JCC: put(&o, "%s 0x%llx", cc_name[u->kind & 15], (unsigned long long)u->imm); break;
        case U_SPILL:
        case U_UNSPILL:
        case U_RDSEG:
        case U_WRSEG: put(&o, "%%%s", gpr_name[u->reg & 15]); break;
        case U_CALL: put(&o, "0x%llx, ret 0x%llx", (unsigned long long)u->imm, (unsigned long long)u->set); break;
        case U_REQUEST: put(&o, "at 0x%llx", (unsigned long long)u->imm); break;
        case U_EXIT: put(&o, "kind %u at 0x%llx", u->kind, (unsigned long long)u->imm); break;
        case U_JMPI:
        case U_CALLI:
            if (u->m.base != IP_REG_NONE || u->m.index != IP_REG_NONE) put_addr(&o, &u->m);
            if (u->imm) put(&o, ", 0x%llx?", (unsigned long long)(u->imm & ~JMPI_UNBOUND));
            break;
        case U_TJOIN:
        case U_TRACK:
        case U_SPSAVE:
        case U_SPCHG: break;
        default: put(&o, "0x%llx", (unsigned long long)u->imm); break;
        }
        if (u->t0 != IP_REG_NONE) put(&o, "  [t0 = %%%s]", gpr_name[u->t0 & 15]);
        if (u->fl_live) put(&o, "  (flags live)");
        put(&o, "\n");
    }
    return o.len;
}
