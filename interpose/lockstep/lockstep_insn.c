/* Lockstep: what a comparison must know of an instruction. */
#include <stdbool.h>
#include <string.h>

#include "abi/inline/line.h"
#include "lockstep/lockstep.h"
#include "jit/x86_decode.h"

static bool is_any(const struct ip_insn *in, const char *const *names) {
    const char *name = ip_mnem_name(in->mnem);
    for (; *names; names++)
        if (!strcmp(name, *names)) return true;
    return false;
}

int ip_ls_insn_kind(const struct ip_insn *in) {
    /* Time, chance, the CPU that one happens to be on, and what the kernel keeps in use. */
    static const char *const freely[] = {"rdtsc",  "rdtscp", "rdpmc", "rdrand", "rdseed", "rdpid", "cpuid",
                                         "xgetbv", "sgdt",   "sidt",  "sldt",   "str",    "smsw",  NULL};
    /* The x87 part names the last instruction, which lies elsewhere in T; XSTATE_BV depends on
     * which components the CPU believes to be in use. */
    static const char *const image[] = {"fxsave",   "fxsave64", "xsave",      "xsave64", "xsavec",
                                        "xsavec64", "xsaveopt", "xsaveopt64", "fsave",   "fnsave",
                                        "fstenv",   "fnstenv",  NULL};
    static const char *const pushf[] = {"pushf", "pushfd", "pushfq", NULL};
    static const char *const restores[] = {"fxrstor",  "fxrstor64", "xrstor",     "xrstor64", "ldmxcsr",
                                           "vldmxcsr", "vzeroall",  "vzeroupper", NULL};
    int kind = 0;
    if (is_any(in, freely)) kind |= IP_LS_I_FREE;
    if (is_any(in, image)) kind |= IP_LS_I_IMAGE;
    if (is_any(in, pushf)) kind |= IP_LS_I_PUSHF;
    if (in->vec_write || in->mmx_write || in->k_write || in->x87 || in->mmx || is_any(in, restores))
        kind |= IP_LS_I_VECTOR;
    return kind;
}

/* Intel SDM volume 1, appendix A.2 (EFLAGS cross-reference), entries "-"; of
 * shifts and rotations by CL the count decides. */
uint32_t ip_ls_undefined_flags(const struct ip_insn *in, uint64_t rcx) {
    static const struct {
        const char *names[12];
        uint32_t flags;
    } rows[] = {
        {{"and", "or", "xor", "test", "andn", "blsi", "blsmsk", "blsr"}, IP_FL_AF},
        {{"andn", "blsi", "blsmsk", "blsr", "bextr", "bzhi", "lzcnt", "tzcnt"}, IP_FL_PF | IP_FL_AF},
        {{"bextr", "lzcnt", "tzcnt", "mul", "imul"}, IP_FL_SF | IP_FL_AF},
        {{"lzcnt", "tzcnt", "bt", "btc", "btr", "bts"}, IP_FL_OF},
        {{"mul", "imul"}, IP_FL_ZF | IP_FL_AF | IP_FL_PF},
        {{"div", "idiv"}, IP_FL_ARITH},
        {{"bsf", "bsr"}, IP_FL_CF | IP_FL_OF | IP_FL_SF | IP_FL_AF | IP_FL_PF},
        {{"bt", "btc", "btr", "bts"}, IP_FL_SF | IP_FL_AF | IP_FL_PF},
        {{"shl", "sal", "shr", "sar", "shld", "shrd"}, IP_FL_AF},
    };
    static const char *const shifts[] = {"shl", "sal", "shr", "shld", "shrd", NULL};
    static const char *const turns[] = {"rol", "ror", "rcl", "rcr", "sar", NULL};
    const char *name = ip_mnem_name(in->mnem);
    uint32_t flags = 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        for (int k = 0; k < 12 && rows[i].names[k]; k++)
            if (!strcmp(name, rows[i].names[k])) flags |= rows[i].flags;
    bool shift = is_any(in, shifts);
    if (shift || is_any(in, turns)) {
        uint64_t count = in->imm_len ? (uint64_t)in->imm : (in->opcode & 0xfe) == 0xd0 && !in->map ? 1 : rcx;
        count &= in->opsize == 8 ? 63 : 31;
        if (count == 0) return 0;
        if (count != 1) flags |= IP_FL_OF;
        if (shift && count >= 8u * in->opsize) flags |= IP_FL_CF;
    }
    return flags;
}

static uint64_t segment_base(const struct ip_mem *m, uint64_t fs, uint64_t gs) {
    return m->seg == IP_SEG_FS ? fs : m->seg == IP_SEG_GS ? gs : 0;
}

static uint64_t address_of(const struct ip_mem *m, const struct ip_ls_regs *r, uint64_t fs, uint64_t gs) {
    uint64_t a = m->base == IP_REG_RIP ? m->rip_target : (uint64_t)m->disp;
    if (m->base < 16) a += r->gpr[m->base];
    if (m->index < 16) a += r->gpr[m->index] * (m->scale ? m->scale : 1);
    if (m->addr32) a = (uint32_t)a;
    return a + segment_base(m, fs, gs);
}

int ip_ls_insn_writes(const struct ip_insn *in, const struct ip_ls_regs *before, uint64_t fs, uint64_t gs,
                      struct ip_ls_write *out, int max) {
    int n = 0;
    for (int i = 0; i < in->n_ops && n < max; i++) {
        const struct ip_operand *p = &in->ops[i];
        if (!(p->access & IP_ACC_W) || p->access & IP_ACC_ADDR) continue;
        if (p->kind == IP_OP_MEM && in->mem.present && !in->mem.vsib) {
            out[n].addr = address_of(&in->mem, before, fs, gs);
            out[n++].len = p->size;
        } else if (p->kind == IP_OP_MEM_IMPL && p->reg == IP_RSP) {
            out[n].addr = before->gpr[IP_RSP] - p->size;
            out[n++].len = p->size;
        } else if (p->kind == IP_OP_MEM_IMPL && ip_clears_line(in)) {
            out[n].addr = ip_line_of(in, before->gpr[IP_RAX], segment_base(&in->mem, fs, gs));
            out[n++].len = p->size;
        } else if (p->kind == IP_OP_MEM_IMPL && p->reg == IP_RDI) {
            uint64_t times = in->rep ? before->gpr[IP_RCX] : 1;
            if (times > 1 << 16) times = 1 << 16;
            bool down = before->rflags & IP_FL_DF;
            out[n].len = times * p->size;
            out[n].addr = before->gpr[IP_RDI] - (down && times ? (times - 1) * p->size : 0);
            n++;
        }
    }
    return n;
}
