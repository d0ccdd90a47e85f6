/* Lockstep: T goes through a block, N follows instruction by instruction, then
 * they are compared.  T goes first, because a signal may stop it anywhere. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "abi/inline/pcs.h"
#include "abi/meta.h"
#include "abi/space.h"
#include "lockstep/lockstep_priv.h"
#include "jit/x86_decode.h"

#define CALL_RETURN     0x7fdf0000ull /* RT_CALL_RETURN of rt.h: end of a call made for a request */
#define META(x)         ((uint64_t)IP_META_BASE + (x))
#define FRAME_REGISTERS 48 /* of the registers in a signal frame (ucontext at 8, gregs at 40) */

/* ---- The block that T is about to enter ------------------------------------------------ */

static int block_at(struct ip_ls *l, uint64_t host, struct ip_block *b) {
    struct ip_meta m;
    if (ip_ls_read(l->t_pid, IP_META_BASE, &m, sizeof m) != sizeof m) return ls_fail(l, "read T's tables");
    uint32_t lo = 0, hi = m.n_blocks;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        uint64_t at = META(IP_META_BLOCKS) + (uint64_t)mid * sizeof *b;
        if (ip_ls_read(l->t_pid, at, b, sizeof *b) != sizeof *b) return ls_fail(l, "read T's tables");
        if (host < b->host)
            hi = mid;
        else if (host >= b->host + (uint64_t)b->host_len)
            lo = mid + 1;
        else
            return 0;
    }
    errno = 0;
    return ls_fail(l, "find the block that T enters");
}

static int take_block(struct ip_ls *l) {
    struct ip_block b;
    if (block_at(l, l->target, &b)) return -1;
    l->block_key = l->key;
    l->block_host = b.host;
    l->n_insns = b.n_insns;
    if (!b.n_insns || b.n_insns > IP_LS_BLOCK) {
        errno = 0;
        return ls_fail(l, "follow a block of such length");
    }
    uint8_t pcs[IP_PCS_HEAD + IP_PCS_MOST * IP_LS_BLOCK];
    uint64_t size = IP_PCS_HEAD + (uint64_t)IP_PCS_MOST * b.n_insns; /* at most */
    if (ip_ls_read(l->t_pid, META(IP_META_PCS) + b.pcs, pcs, size) != (int64_t)size)
        return ls_fail(l, "read T's tables");
    b.pcs = 0;
    for (uint32_t i = 0; i < b.n_insns; i++) l->pcs[i] = ip_pc_of(pcs, &b, i);
    l->index = l->left = l->adopt = l->vector = l->n_writes = 0;
    return 0;
}

/* A binding: its target runs instead of what is at N's pc. */
static int follow_binding(struct ip_ls *l) {
    l->n.pc = l->pcs[0];
    return ls_set(l, l->n_pid, &l->n);
}

/* ---- Registers compared ---------------------------------------------------------------------- */

#define LOOKAHEAD 64

/* A jump such as procedure linkage tables have. */
static bool is_through_table(const struct ip_insn *in) {
    return in->flow == IP_F_JMPI && in->mem.present && in->mem.base == IP_REG_RIP;
}

/* The entry of a procedure linkage table, alone or behind an endbr64: who calls it cannot know whether the dynamic
 * linker comes first, which keeps no flags. */
static bool is_entry(const struct ip_insn *in) { return is_through_table(in) && in->pc % 4 == 0; }

/* Are these flags overwritten on N's way before anything reads them? */
static bool are_dead(const struct ip_ls *l, uint32_t flags) {
    uint64_t pc = l->n.pc;
    for (int i = 0; i < LOOKAHEAD; i++) {
        uint8_t bytes[16];
        struct ip_insn in;
        int64_t avail = ip_ls_read(l->n_pid, pc, bytes, 15);
        int len = avail > 0 ? ip_decode(bytes, (size_t)avail, pc, &in) : 0;
        if (len <= 0) return false;
        if (is_entry(&in)) return true;
        bool stays = in.flow == IP_F_SYSCALL; /* R11, which gets the flags, is taken from T */
        if (in.fl_read & flags && !stays) return false;
        flags &= ~in.fl_kill;
        if (!flags) return true;
        if (in.flow == IP_F_JMP || in.flow == IP_F_CALL)
            pc = in.target;
        else if (in.flow == IP_F_NEXT || stays)
            pc += (uint64_t)len;
        else if (!is_through_table(&in) || ip_ls_read(l->n_pid, in.mem.rip_target, &pc, sizeof pc) != sizeof pc)
            return false;
    }
    return false;
}

static void compare_registers(struct ip_ls *l, const struct ip_ls_regs *t) {
    uint32_t mask = IP_FL_ARITH | IP_FL_DF;
    if (!l->keep_undefined) mask &= ~l->undefined;
    if (t->pc != l->n.pc) l->differ |= IP_LS_D_PC;
    l->differ_gpr = 0;
    for (int i = 0; i < 16; i++)
        if (t->gpr[i] != l->n.gpr[i]) l->differ_gpr |= 1u << i;
    if (l->differ_gpr) l->differ |= IP_LS_D_GPR;
    l->differ_flags = (uint32_t)(t->rflags ^ l->n.rflags) & mask;
    if (l->differ_flags && l->forgive_dead && are_dead(l, l->differ_flags)) {
        l->undefined |= l->differ_flags;
        l->differ_flags = 0;
    }
    if (l->differ_flags) l->differ |= IP_LS_D_FLAGS;
}

static bool stand_alike(const struct ip_ls *l) {
    return l->n.pc == l->t.pc && !memcmp(l->n.gpr, l->t.gpr, sizeof l->n.gpr);
}

/* ---- Signals ------------------------------------------------------------------------------ */

/* Is this a handler's first instruction, before the frame that it was given?  Its arguments are the number and
 * pointers into the frame, which says where the signal came. */
static bool interrupted_by(struct ip_ls *l, const struct ip_ls_regs *handler, struct ip_ls_regs *frame) {
    static const uint8_t order[16] = {IP_R8,  IP_R9,  IP_R10, IP_R11, IP_R12, IP_R13, IP_R14, IP_R15,
                                      IP_RDI, IP_RSI, IP_RBP, IP_RBX, IP_RDX, IP_RAX, IP_RCX, IP_RSP};
    uint64_t words[18], sp = handler->gpr[IP_RSP];
    if (handler->gpr[IP_RDX] != sp + 8 || handler->gpr[IP_RDI] - 1 >= 64 || handler->gpr[IP_RSI] <= sp) return false;
    if (ip_ls_read(l->t_pid, sp + FRAME_REGISTERS, words, sizeof words) != sizeof words) return false;
    for (int i = 0; i < 16; i++) frame->gpr[order[i]] = words[i];
    frame->pc = words[16];
    frame->rflags = words[17];
    return true;
}

/* T may have got several signals at once, each before the first instruction of the last one's handler. */
static void look_for_frames(struct ip_ls *l) {
    const struct ip_ls_regs *at = &l->t;
    l->n_frames = 0;
    while (l->n_frames < IP_LS_FRAMES && interrupted_by(l, at, &l->frames[l->n_frames])) at = &l->frames[l->n_frames++];
}

static void copy_frames(struct ip_ls *l, uint32_t n) {
    const struct ip_ls_regs *at = &l->t;
    for (uint32_t i = 0; i < n; at = &l->frames[i++]) {
        uint64_t lo = at->gpr[IP_RSP], hi = l->frames[i].gpr[IP_RSP];
        if (hi <= lo || hi - lo > 65536) hi = lo + 16384; /* on an alternate stack */
        ls_copy(l->n_pid, l->t_pid, lo, hi - lo);
    }
    l->n_frames = 0;
}

/* N is where a signal found T: it gets the frames and goes to the handler, too.  1: it did; 0: it is not there, or
 * its registers are others, as in another turn of a loop; -1. */
static int meet_frame(struct ip_ls *l) {
    for (uint32_t i = 0; i < l->n_frames; i++) {
        if (l->n.pc != l->frames[i].pc) continue;
        l->differ = 0;
        compare_registers(l, &l->frames[i]);
        if (!l->differ || (l->left && l->steps < l->start_at)) {
            l->signals += i + 1;
            copy_frames(l, i + 1);
            return ip_ls_adopt(l, 1) ? -1 : 1;
        }
        l->frame = l->frames[i];
        l->differ_frame = 1;
    }
    return 0;
}

/* N was there with other registers, and never again in this block. */
static bool passed_frame(struct ip_ls *l) {
    if (!l->differ_frame || stand_alike(l)) return false;
    l->differ = 0;
    compare_registers(l, &l->frame);
    return true;
}

/* What a system call left in T, if a signal waited for its end: in that one's frame. */
static const struct ip_ls_regs *behind_call(const struct ip_ls *l, uint64_t next) {
    for (uint32_t i = 0; i < l->n_frames; i++)
        if (l->frames[i].pc == next || l->frames[i].pc == l->n.pc) return &l->frames[i];
    return &l->t;
}

int ip_ls_adopt(struct ip_ls *l, int whole) {
    struct ip_ls_regs r = l->t;
    if (!whole) {
        r = l->n;
        r.pc = l->after.pc;
        for (int i = 0; i < 3; i++) {
            static const uint8_t left_by_syscall[3] = {IP_RAX, IP_RCX, IP_R11};
            r.gpr[left_by_syscall[i]] = l->after.gpr[left_by_syscall[i]];
        }
    } else {
        /* Signals that waited for the end of this call, or another handler that it returns to. */
        if (l->n_frames && l->t.gpr[IP_RSP] < l->n.gpr[IP_RSP]) l->signals += l->n_frames;
        copy_frames(l, l->n_frames);
        if (ls_get_vector(l, l->t_pid, l->x_t) || ls_set_n_vector(l, l->x_t)) return -1;
        ls_copy(l->n_pid, l->t_pid, l->t.gpr[IP_RSP], 16); /* what T pushed: guest_call.c */
    }
    if (ls_set(l, l->n_pid, &r)) return -1;
    return ls_get_n(l);
}

/* ---- All compared ------------------------------------------------------------------------------- */

static bool part_differs(struct ip_ls *l, int from, int len) {
    if (from < 0 || (uint32_t)(from + len) > l->xsave_size) return false;
    for (int i = from; i < from + len; i++)
        if (l->x_t[i] != l->x_n[i]) {
            l->differ_offset = i;
            return true;
        }
    return false;
}

/* Everything but the address of the last x87 instruction, which lies elsewhere in T. */
static int compare_vector(struct ip_ls *l) {
    static const struct {
        int component, size;
    } parts[] = {{2, 256}, {5, 64}, {6, 512}, {7, 1024}};
    if (ls_get_vector(l, l->t_pid, l->x_t) || ls_get_vector(l, l->n_pid, l->x_n)) return -1;
    bool differs = part_differs(l, 0, 5) || part_differs(l, 24, 4) || part_differs(l, 160, 256);
    for (int i = 0; i < 8 && !differs; i++) differs = part_differs(l, 32 + 16 * i, 10);
    for (int i = 0; i < 4 && !differs; i++)
        differs = part_differs(l, ip_ls_component(parts[i].component), parts[i].size);
    if (differs) l->differ |= IP_LS_D_VECTOR;
    return 0;
}

static void compare_memory(struct ip_ls *l) {
    uint8_t t[4096], n[4096];
    for (uint32_t i = 0; i < l->n_writes; i++) {
        uint64_t at = l->writes[i].addr, end = at + l->writes[i].len;
        while (at < end) {
            uint64_t want = end - at < sizeof t ? end - at : sizeof t;
            int64_t have = ip_ls_read(l->t_pid, at, t, want);
            if (have <= 0 || ip_ls_read(l->n_pid, at, n, (uint64_t)have) != have) break;
            if (memcmp(t, n, (size_t)have)) {
                uint64_t off = 0;
                while (t[off] == n[off]) off++;
                l->differ |= IP_LS_D_MEMORY;
                l->differ_addr = at + off;
                memset(l->differ_t, 0, sizeof l->differ_t);
                memset(l->differ_n, 0, sizeof l->differ_n);
                size_t show = (size_t)have - off < 16 ? (size_t)have - off : 16;
                memcpy(l->differ_t, t + off, show);
                memcpy(l->differ_n, n + off, show);
                return;
            }
            at += (uint64_t)have;
        }
    }
}

/* Both at a boundary. */
static int compare(struct ip_ls *l) {
    l->differ = l->differ_frame = 0;
    if (l->steps < l->start_at) return 0;
    compare_registers(l, &l->t);
    bool whole = l->vector_every && l->steps / l->vector_every != (l->steps - l->index) / l->vector_every;
    if ((l->vector || whole) && compare_vector(l)) return -1;
    compare_memory(l);
    return l->differ != 0;
}

static int poke(struct ip_ls *l) {
    if (l->poke_reg < 0 || l->steps < l->poke_step) return 0;
    l->t.gpr[l->poke_reg] = l->poke_value;
    l->poke_reg = -1;
    /* T itself stands in the runtime's jump: its pc is not the guest's. */
    struct ip_ls_regs r = l->t;
    r.pc = l->enter_jump;
    return ls_set(l, l->t_pid, &r);
}

/* ---- N follows -------------------------------------------------------------------------------- */

static void remember(struct ip_ls *l, const uint8_t *bytes, uint32_t len) {
    struct ip_ls_step *s = &l->ring[l->ring_at++ % IP_LS_RING];
    s->pc = l->n.pc;
    s->len = len;
    memcpy(s->bytes, bytes, 16);
}

static bool is_marker(const uint8_t *b, int64_t avail) {
    static const uint8_t preamble[18] = {0x48, 0xc1, 0xc7, 0x03, 0x48, 0xc1, 0xc7, 0x0d, 0x48,
                                         0xc1, 0xc7, 0x3d, 0x48, 0xc1, 0xc7, 0x33, 0x48, 0x87};
    return avail >= 19 && !memcmp(b, preamble, 18) && (b[18] == 0xdb || b[18] == 0xd2 || b[18] == 0xc9);
}

static void add_write(struct ip_ls *l, uint64_t addr, uint64_t len) {
    if (l->n_writes == IP_LS_WRITES) return;
    l->writes[l->n_writes].addr = addr;
    l->writes[l->n_writes++].len = len;
}

/* What T's memory says of this goes into N's. */
static void follow_memory(struct ip_ls *l) {
    for (uint32_t i = 0; i < l->n_writes; i++) ls_copy(l->n_pid, l->t_pid, l->writes[i].addr, l->writes[i].len);
    l->n_writes = 0;
}

/* A single-stepped pushf shows the trap flag, which is the tracer's. */
static int clear_pushed_trap_flag(struct ip_ls *l) {
    uint64_t at = l->n.gpr[IP_RSP] & ~7ull;
    long word = ptrace(PTRACE_PEEKDATA, l->n_pid, at, 0);
    long bit = 1l << (8 + 8 * (l->n.gpr[IP_RSP] & 7));
    return ptrace(PTRACE_POKEDATA, l->n_pid, at, word & ~bit) ? ls_fail(l, "write N's stack") : 0;
}

static void note_undefined(struct ip_ls *l, const struct ip_insn *in, uint64_t rcx) {
    uint32_t undefined = l->forgive_dead && is_entry(in) ? IP_FL_ARITH : ip_ls_undefined_flags(in, rcx);
    l->undefined = (l->undefined & ~(in->fl_kill & ~undefined)) | undefined;
}

/* One instruction of N.  0, 1: it faulted, -1. */
static int n_insn(struct ip_ls *l, const struct ip_insn *in) {
    struct ip_ls_write w[6];
    struct ip_ls_regs before = l->n;
    int kind = ip_ls_insn_kind(in);
    int n = ip_ls_insn_writes(in, &before, l->n_fs, l->n_gs, w, 6);
    bool many = in->rep && before.gpr[IP_RCX] > 8;
    int r = many ? ls_n_run(l, in->pc + in->len) : ls_n_step(l);
    while (r == 0 && in->rep && l->n.pc == in->pc) r = ls_n_step(l);
    if (r) return r;
    if (kind & IP_LS_I_PUSHF && clear_pushed_trap_flag(l)) return -1;
    if (kind & IP_LS_I_FREE) l->adopt = 1;
    if (kind & IP_LS_I_VECTOR) l->vector = 1;
    note_undefined(l, in, before.gpr[IP_RCX]);
    for (int i = 0; i < n; i++) {
        if (kind & IP_LS_I_IMAGE)
            ls_copy(l->n_pid, l->t_pid, w[i].addr, w[i].len > 512 || !w[i].len ? l->xsave_size : w[i].len);
        else
            add_write(l, w[i].addr, w[i].len);
    }
    return 0;
}

/* T left the block here, before its end: for a slow path, a code page that changed,
 * another translation.  That it came here by a loop is as well: the registers are the same. */
static bool left_early(const struct ip_ls *l) { return !l->t_ended && stand_alike(l); }

static int n_fault(struct ip_ls *l) {
    if (l->t_ended == 1 && WIFSIGNALED(l->t_status) && WTERMSIG(l->t_status) == l->n_signal) return IP_LS_BOTH_DIED;
    return IP_LS_N_FAULT;
}

static void count(struct ip_ls *l) {
    l->steps++;
    l->index++;
    l->left = l->index >= l->n_insns || l->n.pc != l->pcs[l->index];
}

/* N through the block.  -1: done with it; else an event. */
static int follow(struct ip_ls *l) {
    int r;
    for (;;) {
        r = meet_frame(l);
        if (r) return r < 0 ? IP_LS_ERROR : -1;
        if (l->left && passed_frame(l)) return IP_LS_DIFFER;
        if (l->left) return l->t_ended ? IP_LS_T_ENDED : -1;
        if (left_early(l)) return -1;
        if (l->index == 0 && l->n.pc != l->pcs[0]) {
            if (follow_binding(l)) return IP_LS_ERROR;
            continue;
        }

        uint8_t bytes[32] = {0};
        struct ip_insn in;
        int64_t avail = ip_ls_read(l->n_pid, l->n.pc, bytes, 24);
        int len = avail > 0 ? ip_decode(bytes, (size_t)avail, l->n.pc, &in) : 0;
        remember(l, bytes, len > 0 ? (uint32_t)len : 0);
        bool marker = is_marker(bytes, avail), call = len > 0 && in.flow == IP_F_SYSCALL;
        if (marker || call || l->n.pc == CALL_RETURN) {
            l->after = *behind_call(l, l->n.pc + (uint64_t)(len > 0 ? len : 0));
            l->steps++;
            l->left = 1;
            return call && l->n.pc != CALL_RETURN ? IP_LS_SYSCALL : IP_LS_REQUEST;
        }
        if (len > 0) {
            r = n_insn(l, &in);
        } else {
            r = ls_n_step(l); /* it will fault */
        }
        if (r < 0) return IP_LS_ERROR;
        if (r > 0) return n_fault(l);
        count(l);
    }
}

int ip_ls_run(struct ip_ls *l) {
    for (;;) {
        int r;
        if (!l->in_block) {
            if (poke(l)) return IP_LS_ERROR;
            r = compare(l);
            if (r) return r < 0 ? IP_LS_ERROR : IP_LS_DIFFER;
            if (l->steps >= l->stop_at) return IP_LS_LIMIT;
            if (take_block(l)) return IP_LS_ERROR;
            l->blocks++;
            r = ls_t_run(l, l->enter_jump);
            if (r < 0) return IP_LS_ERROR;
            l->n_frames = 0;
            if (!r) look_for_frames(l);
            l->in_block = 1;
        }
        r = follow(l);
        if (r >= 0) return r;
        l->in_block = 0;
        if (l->adopt) {
            follow_memory(l);
            if (ip_ls_adopt(l, 1)) return IP_LS_ERROR;
        }
    }
}
