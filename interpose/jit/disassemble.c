/* Stage 1: guest bytes to uinstrs, following direct jumps. */
#include <string.h>

#include "abi/channel.h"
#include "abi/exits.h"
#include "abi/space.h"
#include "jit/ucode.h"
#include "jit/x86_decode.h"

/* docs/spec/client-requests.md section 1: rol rdi by 3, 13, 61, 51. */
static const uint8_t request_preamble[16] = {
    0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48, 0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33,
};

/* Host code lies below IP_META_BASE; a rip-relative operand of the copy
 * reaches every target below this. */
#define RIP_REACH 0xC0000000ull

_Static_assert(IP_CACHE_BASE + (uint64_t)INT32_MAX > RIP_REACH && IP_META_BASE <= INT32_MAX,
               "all of the cache reaches it, and address 0");

#define MAX_SIDE_EXITS     6
#define MAX_LOOP_EXITS     10 /* where loops are followed */
#define LEAST_TURN         8  /* instructions that there must be room for, to follow one */
#define MAX_FOLLOWED_JUMPS 6

static void note_page(struct ublock *b, uint64_t addr) {
    uint64_t page = addr & ~4095ull;
    for (int i = 0; i < b->n_pages; i++)
        if (b->pages[i] == page) return;
    if (b->n_pages == 8) {
        b->overflow = true;
        return;
    }
    b->pages[b->n_pages++] = page;
}

static struct uinstr *add_exit(struct ublock *b, int insn, int kind, uint64_t key, uint32_t aux) {
    struct uinstr *u = ub_add(b, U_EXIT, insn);
    u->kind = (uint8_t)kind;
    u->imm = key;
    u->set = aux;
    return u;
}

static void add_jmp(struct ublock *b, int insn, uint64_t target) { ub_add(b, U_JMP, insn)->imm = target; }

/* Cache line control: no data is accessed, but the address is checked. */
static bool may_fault(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_CLFLUSH:
    case IP_MN_CLFLUSHOPT:
    case IP_MN_CLWB:
    case IP_MN_CLDEMOTE: return true;
    default: return false;
    }
}

/* movdir64b and enqcmd store where another register says, of which 67 makes 32 bits, too: it must stay. */
static bool keeps_address_size(const struct ip_insn *in) {
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL && in->ops[k].reg != IP_RSP) return in->mem.addr32;
    return false;
}

/* Address forms that the copy cannot keep: fs:/gs: operands (both bases are
 * ours), rip-relative targets out of reach, 32-bit addresses beside a shadow. */
static int address_temp(struct ublock *b, int i, const struct ip_jit_opts *o) {
    const struct ip_insn *in = &b->insn[i];
    if (!in->mem.present || (in->mem.access == IP_ACC_ADDR && !may_fault(in))) {
        if (in->mem.present && in->mem.base == IP_REG_RIP && in->mem.rip_target >= RIP_REACH) {
            struct uinstr *u = ub_add(b, U_FAREA, i);
            u->imm = in->mem.rip_target;
            return 1;
        }
        return 0;
    }
    /* The displacement of a shadow operand must not count among 32 bits. */
    bool narrow = in->mem.addr32 && (o->flags & IP_C_SHADOW) && in->mem.base != IP_REG_RIP && !in->mem.vsib &&
                  ip_address_temps(in) && !keeps_address_size(in);
    if (in->mem.seg || narrow) {
        struct uinstr *u = ub_add(b, U_SEGEA, i);
        u->seg = in->mem.seg;
        uaddr_from_mem(&u->m, &in->mem);
        /* pop forms the address with RSP as it is afterwards (SDM, "POP") */
        if (in->mnem == IP_MN_POP && in->mem.base == IP_RSP) u->m.disp += in->mem.size;
        return 1;
    }
    if (in->mem.base == IP_REG_RIP && in->mem.rip_target >= RIP_REACH) {
        struct uinstr *u = ub_add(b, U_FAREA, i);
        u->imm = in->mem.rip_target;
        return 1;
    }
    if (in->mem.moffs && in->mem.disp != (int32_t)in->mem.disp) {
        /* A shadow operand has no 64-bit displacement. */
        struct uinstr *u = ub_add(b, U_FAREA, i);
        u->imm = (uint64_t)in->mem.disp;
        return 1;
    }
    return 0;
}

/* fs:/gs: operands that no temporary can replace: a vector of indices, an
 * implicit address (string instructions, xlat, maskmov).
 * The instruction runs with a gs: prefix and the guest's base in GS. */
static uint8_t gs_operand(const struct ip_insn *in) {
    uint8_t seg = IP_SEG_NONE;
    for (int k = 0; k < in->n_prefix; k++) switch (in->bytes[k]) {
        case IP_PREFIX_FS: seg = IP_SEG_FS; break;
        case IP_PREFIX_GS: seg = IP_SEG_GS; break;
        default: break;
        }
    if (!seg) return 0;
    /* The CPU keeps the operand's offset and the ModRM byte of the last x87 instruction. */
    bool x87 = in->enc == IP_ENC_LEGACY && in->map == 0 && (in->opcode & 0xf8) == 0xd8;
    bool far = in->mem.base == IP_REG_RIP && in->mem.rip_target >= RIP_REACH;
    if (in->mem.present)
        return in->mem.vsib || (x87 && !far) || keeps_address_size(in) || !ip_address_temps(in) ? seg : 0;
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL && in->ops[k].reg != IP_RSP) return seg;
    return 0;
}

/* Instructions that store the address of the last x87 instruction, which is an
 * address in the code cache. */
static bool stores_x87_pc(const struct ip_insn *in) {
    switch (in->mnem) {
    case IP_MN_FNSTENV:
    case IP_MN_FNSAVE:
    case IP_MN_FXSAVE:
    case IP_MN_FXSAVE64:
    case IP_MN_XSAVE:
    case IP_MN_XSAVE64:
    case IP_MN_XSAVEC:
    case IP_MN_XSAVEC64:
    case IP_MN_XSAVEOPT:
    case IP_MN_XSAVEOPT64: return true;
    default: return false;
    }
}

static uint16_t x87_layout(const struct ip_insn *in) {
    if (in->mnem == IP_MN_FNSTENV || in->mnem == IP_MN_FNSAVE) return in->opsize == 2 ? IP_X87_ENV16 : IP_X87_ENV32;
    return in->rex & 8 ? IP_X87_FXSAVE64 : IP_X87_FXSAVE;
}

/* The preamble and an xchg behind it; asked for each instruction. */
static bool begins_marker(const uint8_t *buf, int avail) {
    return avail >= 19 && memcmp(buf, request_preamble, 8) == 0 && memcmp(buf + 8, request_preamble + 8, 8) == 0 &&
           buf[16] == 0x48 && buf[17] == 0x87;
}

/* Is a request that is answered at once (IP_SYM_REQUEST) no end of the block?  Records of runs would have to say so. */
static bool goes_on(const struct ip_jit_opts *o) {
    return (o->flags & IP_C_HEAP) && !(o->flags & (IP_C_TRACE | IP_C_SINGLE_STEP));
}

/* Returns true when the instruction ended the block. */
static bool marker(struct ublock *b, int i, const uint8_t *buf, int avail, uint64_t pc, const struct ip_jit_opts *o) {
    if (!begins_marker(buf, avail)) return false;
    switch (buf[18]) {
    case 0xdb:
        add_exit(b, i, IP_X_REQUEST, pc, 19);
        if (goes_on(o)) {
            b->u[b->n_u - 1].op = U_REQUEST;
            b->u[b->n_u - 1].kind = 0;
            add_jmp(b, i, pc + 19);
        }
        return true;
    case 0xd2: add_exit(b, i, IP_X_NOREDIR, pc, 19); return true;
    case 0xf6: add_exit(b, i, IP_X_NOREDIR, pc, 19 | IP_NOREDIR_R11); return true;
    case 0xc9: ub_add(b, U_GETNR, i); return false;
    default: return false;
    }
}

static bool marker_nraddr(const uint8_t *buf, int avail) { return begins_marker(buf, avail) && buf[18] == 0xc9; }

/* Selectors of FS and GS: the registers are the runtime's.  That of SS: any system call of the runtime's between two
 * blocks sets it (CPU manual, "SYSRET"). */
static bool uses_selector(const struct ip_insn *in) {
    if (in->mnem == IP_MN_LFS || in->mnem == IP_MN_LGS || in->mnem == IP_MN_LSS) return true;
    for (int k = 0; k < in->n_ops; k++) {
        unsigned seg = in->ops[k].kind == IP_OP_SEG ? in->ops[k].reg : IP_SEG_NONE;
        if (seg == IP_SEG_FS || seg == IP_SEG_GS || seg == IP_SEG_SS) return true;
    }
    return false;
}

static bool add_control(struct ublock *b, int i, const struct ip_jit_opts *o) {
    const struct ip_insn *in = &b->insn[i];
    uint64_t next = in->pc + in->len;
    struct uinstr *u;
    int via;
    switch (in->flow) {
    case IP_F_JCC:
        u = ub_add(b, U_JCC, i);
        u->imm = in->target;
        u->kind = in->cc;
        return false;
    case IP_F_LOOP:
    case IP_F_XBEGIN:
        u = ub_add(b, U_LOOPX, i);
        u->imm = in->target;
        add_jmp(b, i, next);
        return true;
    case IP_F_CALL:
        u = ub_add(b, U_CALL, i);
        u->imm = in->target;
        u->set = next;
        return true;
    case IP_F_JMPI:
    case IP_F_CALLI:
        via = address_temp(b, i, o);
        u = ub_add(b, in->flow == IP_F_JMPI ? U_JMPI : U_CALLI, i);
        u->via_t = (uint8_t)via;
        u->set = next;
        if (in->mem.present) uaddr_from_mem(&u->m, &in->mem);
        return true;
    case IP_F_RET:
        u = ub_add(b, U_RET, i);
        u->imm = in->imm_len ? (uint64_t)(in->imm & 0xffff) : 0;
        return true;
    case IP_F_SYSCALL: add_exit(b, i, IP_X_SYSCALL, in->pc, in->len); return true;
    case IP_F_INT: {
        if (in->mnem == IP_MN_SYSENTER) {
            add_exit(b, i, IP_X_ILLEGAL, in->pc, IP_ILL_SYSENTER);
            return true;
        }
        uint32_t vec = in->mnem == IP_MN_INT3   ? IP_VEC_BP
                       : in->mnem == IP_MN_INT1 ? IP_VEC_DB
                                                : (uint32_t)in->imm & 0xff;
        if (vec == IP_VEC_INT80)
            add_exit(b, i, IP_X_SYSCALL32, in->pc, in->len);
        else
            add_exit(b, i, IP_X_TRAP, in->pc, vec | (uint32_t)in->len << 8 | (in->mnem == IP_MN_INT ? IP_TRAP_INT : 0));
        return true;
    }
    case IP_F_IRET:
    case IP_F_FAR: add_exit(b, i, IP_X_FAR, in->pc, 0); return true;
    default: add_exit(b, i, IP_X_ILLEGAL, in->pc, IP_ILL_UNDEFINED); return true;
    }
}

/* Stores, whatever they store to, end a checked block: the next compares again. */
static bool may_store(const struct ip_insn *in) {
    if (in->mem.present && (in->mem.access & IP_ACC_W)) return true;
    for (int k = 0; k < in->n_ops; k++)
        if (in->ops[k].kind == IP_OP_MEM_IMPL && (in->ops[k].access & IP_ACC_W)) return true;
    return in->mnem == IP_MN_MASKMOVDQU || in->mnem == IP_MN_VMASKMOVDQU || in->mnem == IP_MN_MASKMOVQ;
}

/* Other threads' stores are seen after these (SDM volume 3, section 8.1.3, cross-modifying code). */
static bool serializes(const struct ip_insn *in) { return in->mnem == IP_MN_CPUID || in->mnem == IP_MN_SERIALIZE; }

/* The host's trap after it must not lie in another guest instruction (runtime/core/trapflag.c). */
static bool sets_trap_flag(const struct ip_insn *in) { return in->mnem == IP_MN_POPFQ || in->mnem == IP_MN_POPF; }

/* unchecked: a page that is not, or 1. */
static bool is_checked(const struct ip_code_reader *rd, uint64_t pc, int len, uint64_t *unchecked) {
    uint64_t first = pc & ~4095ull, last = (pc + (uint64_t)len - 1) & ~4095ull;
    if (!rd->is_checked || (first == *unchecked && last == first)) return false;
    if (rd->is_checked(rd->ctx, first) || (last != first && rd->is_checked(rd->ctx, last))) return true;
    *unchecked = last;
    return false;
}

/* The CPU has no AVX-512, so it has none of the registers that a tool would look at. */
static bool lacks_registers(const struct ip_insn *in, const struct ip_jit_opts *o) {
    if (o->avx512 || in->enc == IP_ENC_LEGACY) return false;
    bool masks = in->enc == IP_ENC_EVEX;
    for (int i = 0; i < in->n_ops; i++) masks |= in->ops[i].kind == IP_OP_K;
    return masks;
}

/* The rest of the instruction cannot be fetched, but need not be: AMD's CPUs look at no ModRM byte of ud0 and
 * ud1 (APM volume 3, "UD0, UD1, UD2"), and those without AVX-512 at two bytes of EVEX (Zen 3). */
static bool undefined_already(const struct ip_insn *in, const struct ip_jit_opts *o) {
    if (!o->amd) return false;
    return in->enc == IP_ENC_EVEX ? !o->avx512 : in->map == 1 && (in->opcode == 0xb9 || in->opcode == 0xff);
}

/* A block of one EXIT for bytes that cannot run. */
static void end_bad(struct ublock *b, int i, int kind, uint64_t pc, uint32_t aux) {
    struct ip_insn *in = &b->insn[i];
    memset(in, 0, sizeof *in);
    in->pc = pc;
    in->mem.base = in->mem.index = IP_REG_NONE;
    b->n_insn = i + 1;
    add_exit(b, i, kind, pc, aux);
}

/* Does a block go on where a conditional jump leads that goes back, most often to the head of a loop, once more and so
 * on?  Not where registers' bits are followed, which rely on each instruction being in it once; nor where runs are
 * recorded for readers that tell by them whether a branch was taken.  Who asks for addresses wants instructions alone.
 */
static bool follows_loops(const struct ip_jit_opts *o) {
    bool plain = !(o->flags & IP_C_TRACE) || o->flags & (IP_C_COUNT | IP_C_TRACE_ADDRESSES);
    return plain && !(o->flags & (IP_C_SHADOW | IP_C_SINGLE_STEP));
}

/* The tables have 32 bits for how far an instruction is from the first one (ip_block.pcs), and several jumps lead
 * farther. */
static bool is_far(const struct ublock *b, uint64_t pc) {
    const uint64_t most = INT32_MAX - 64;
    return pc - b->insn[0].pc + most > 2 * most;
}

void ip_stage1_disassemble(struct ublock *b, const struct ip_code_reader *rd, const struct ip_jit_opts *o,
                           int max_insns) {
    uint64_t pc = b->pc, unchecked = 1;
    int side_exits = 0, followed = 0;
    bool loops = follows_loops(o);
    int max_exits = loops ? MAX_LOOP_EXITS : MAX_SIDE_EXITS;
    int max = max_insns > 0 && max_insns < UB_MAX_INSN ? max_insns : UB_MAX_INSN - 2;

    b->n_insn = b->n_u = b->n_pages = 0;
    b->checked = false;
    if (o->count_blocks) ub_add(b, U_COUNT, 0)->imm = b->key;
    if (b->has_nr) ub_add(b, U_SETNR, 0)->imm = b->nraddr;
    if (rd->breaks) {
        end_bad(b, 0, IP_X_BREAK, b->key & ~IP_KEY_ONE, 0);
        return;
    }
    for (;;) {
        uint8_t buf[32];
        int i = b->n_insn;
        if (i != 0 && is_far(b, pc)) {
            add_jmp(b, i - 1, pc);
            return;
        }
        int avail = rd->read(rd->ctx, pc, buf, 32);
        if (avail <= 0) {
            if (i == 0) {
                note_page(b, pc); /* it may be readable later */
                end_bad(b, i, IP_X_FAULTPC, pc, 0);
            } else {
                add_jmp(b, i - 1, pc);
            }
            return;
        }
        struct ip_insn *in = &b->insn[i];
        int len;
        if (marker_nraddr(buf, avail)) {
            /* One guest instruction of 19 bytes: xchg rcx,rcx stands for it. */
            ip_decode(buf + 16, 3, pc + 16, in);
            in->pc = pc;
            in->len = 19;
            in->gpr_read = 0;
            in->gpr_write = in->gpr_kill = 1u << IP_RAX;
            in->n_ops = 0;
            in->mnem = IP_MN_INVALID;
            len = 19;
        } else {
            len = ip_decode(buf, (size_t)avail, pc, in);
        }
        if (len < 0 ? undefined_already(in, o) : lacks_registers(in, o)) len = 0;
        if (len <= 0) {
            if (i != 0) {
                /* What comes before runs first; the fault belongs to a block of its own. */
                add_jmp(b, i - 1, pc);
                return;
            }
            note_page(b, pc);
            end_bad(b, i, len < 0 ? IP_X_FAULTPC : IP_X_ILLEGAL, pc, in->len > 15 ? IP_ILL_LONG : IP_ILL_UNDEFINED);
            return;
        }
        if (!b->checked && is_checked(rd, pc, len, &unchecked)) {
            if (i != 0) {
                add_jmp(b, i - 1, pc);
                return;
            }
            b->checked = true;
        }
        note_page(b, pc);
        note_page(b, pc + (uint64_t)len - 1);
        b->n_insn++;
        uint64_t next = pc + (uint64_t)len;
        if (len == 19) {
            ub_add(b, U_GETNR, i);
        } else if (marker(b, i, buf, avail, pc, o)) {
            in->len = 19;
            memcpy(in->bytes, buf + 16, 3); /* what tells one from the other */
            note_page(b, pc + 18);
            return;
        } else if (in->flow == IP_F_JMP) {
            bool seen = false;
            for (int k = 0; k <= i; k++) seen |= b->insn[k].pc == in->target;
            if (seen || followed >= MAX_FOLLOWED_JUMPS || b->n_insn >= max || b->n_pages >= 6 ||
                (o->flags & IP_C_SINGLE_STEP)) {
                add_jmp(b, i, in->target);
                return;
            }
            followed++;
            next = in->target;
        } else if (in->flow == IP_F_PRIV || in->flow == IP_F_NEXT) {
            if (uses_selector(in)) {
                add_exit(b, i, IP_X_FAR, in->pc, 0);
                return;
            }
            if (in->mnem == IP_MN_RDFSBASE || in->mnem == IP_MN_RDGSBASE) {
                struct uinstr *u = ub_add(b, U_RDSEG, i);
                u->seg = in->mnem == IP_MN_RDFSBASE ? IP_SEG_FS : IP_SEG_GS;
                u->reg = in->ops[0].reg;
                u->size = in->ops[0].size;
            } else if (in->mnem == IP_MN_WRFSBASE || in->mnem == IP_MN_WRGSBASE) {
                struct uinstr *u = ub_add(b, U_WRSEG, i);
                u->seg = in->mnem == IP_MN_WRFSBASE ? IP_SEG_FS : IP_SEG_GS;
                u->reg = in->ops[0].reg;
                u->size = in->ops[0].size;
            } else {
                uint8_t seg = gs_operand(in);
                int via = seg ? 0 : address_temp(b, i, o);
                struct uinstr *u = ub_add(b, U_INSN, i);
                u->via_t = (uint8_t)via;
                u->seg = seg;
                if (stores_x87_pc(in)) {
                    u = ub_add(b, U_FPSAVE, i);
                    u->seg = in->mem.seg;
                    u->size = x87_layout(in);
                    uaddr_from_mem(&u->m, &in->mem);
                }
            }
        } else if (add_control(b, i, o)) {
            return;
        } else {
            side_exits++;
            bool back = in->flow == IP_F_JCC && in->target <= in->pc && b->n_insn + LEAST_TURN <= max;
            if (loops && back && side_exits < max_exits && !(rd->is_bound && rd->is_bound(rd->ctx, in->target))) {
                struct uinstr *u = &b->u[b->n_u - 1];
                u->kind ^= 1;
                u->imm = next;
                next = in->target;
            }
        }
        pc = next;
        /* A redirected function begins there: it is entered through its binding only. */
        if (rd->is_bound && rd->is_bound(rd->ctx, pc)) {
            add_jmp(b, i, pc);
            return;
        }
        if (serializes(in) || sets_trap_flag(in) || (b->checked && may_store(in))) {
            add_jmp(b, i, pc);
            return;
        }
        if (b->n_insn >= max || side_exits >= max_exits || b->n_pages >= 7) {
            add_jmp(b, i, pc);
            return;
        }
    }
}
