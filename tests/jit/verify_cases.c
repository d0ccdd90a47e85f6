/* Blocks of UCode that are as they should be, and what may be wrong with them (test_verify.py). */
#include <string.h>

#include "jit/ucode.h"

enum { LOAD, LOOKUP, RETURN, N_INSN }; /* mov (%rcx), %rax; mov %fs:8(%rbx), %rdx; ret */

static struct ublock block;
static struct ip_insn insns[UB_MAX_INSN];

static struct uinstr *add(int op, int insn) { return ub_add(&block, op, insn); }

static struct uinstr *check(int op, int insn, int base, int size) {
    struct uinstr *u = add(op, insn);
    u->m = addr_at(base, 0);
    u->size = (uint16_t)size;
    return u;
}

static void begin(bool track) {
    memset(&block, 0, sizeof block);
    memset(insns, 0, sizeof insns);
    block.insn = insns;
    block.n_insn = N_INSN;
    block.track = track;
    insns[LOAD].gpr_read = REG_BIT(IP_RCX);
    insns[LOAD].gpr_write = insns[LOAD].gpr_kill = REG_BIT(IP_RAX);
    insns[LOOKUP].gpr_read = REG_BIT(IP_RBX);
    insns[LOOKUP].gpr_write = insns[LOOKUP].gpr_kill = REG_BIT(IP_RDX);
    insns[RETURN].gpr_read = insns[RETURN].gpr_write = REG_BIT(IP_RSP);
    insns[RETURN].flow = IP_F_RET;
}

static void add_temp(void) {
    struct uinstr *u = add(U_SEGEA, LOOKUP);
    u->seg = IP_SEG_FS;
    u->m = addr_at(IP_RBX, 8);
}

static void clean(void) { /* 0 to 7 */
    begin(false);
    add(U_COUNT, LOAD)->imm = 1;
    add(U_UMASK, LOAD)->set = 2;
    check(U_LDCHK, LOAD, IP_RCX, 8);
    add(U_INSN, LOAD);
    add_temp();
    check(U_LDCHK, LOOKUP, IP_RBX, 8)->via_t = 1;
    add(U_INSN, LOOKUP)->via_t = 1;
    check(U_LDCHK, RETURN, IP_RSP, 8);
    add(U_RET, RETURN);
}

static void tracking(void) { /* 0 to 10 */
    begin(true);
    add(U_TMASK, LOAD)->set = 2;
    check(U_TMEM, LOAD, IP_RCX, 8);
    add(U_TJOIN, LOAD);
    add(U_INSN, LOAD);
    add(U_SPSAVE, LOOKUP);
    add_temp();
    add(U_TJOIN, LOOKUP);
    add_temp();
    add(U_INSN, LOOKUP)->via_t = 1;
    add(U_SPCHG, LOOKUP);
    add(U_RET, RETURN);
}

/* What stage 4 leaves in a uinstr. */
static void set_liveness(void) {
    int done = -1;
    for (int i = 0; i <= N_INSN; i++) block.dead_before[i] = REG_BIT(IP_RSI);
    for (int k = 0; k < block.n_u; k++) {
        struct uinstr *u = &block.u[k];
        u->dead = REG_BIT(IP_RSI);
        u->after_insn = u->insn <= done;
        if (u->op == U_INSN) done = u->insn;
    }
}

static void cleaned(void) {
    clean();
    set_liveness();
}

static struct uinstr *move(int op, int insn, int reg, unsigned spilled) {
    struct uinstr *u = add(op, insn);
    u->reg = (uint8_t)reg;
    u->spilled = (uint16_t)spilled;
    return u;
}

/* LOAD is checked without touching flags, by RCX. */
static void allocated(void) { /* 0 to 9 */
    begin(false);
    struct uinstr *u;
    move(U_SPILL, LOAD, IP_RCX, REG_BIT(IP_RCX));
    u = check(U_LDCHK, LOAD, IP_RCX, 8);
    u->t0 = IP_RCX;
    u->spilled = REG_BIT(IP_RCX);
    move(U_UNSPILL, LOAD, IP_RCX, 0);
    add(U_INSN, LOAD);
    move(U_SPILL, LOOKUP, IP_RSI, REG_BIT(IP_RSI));
    add_temp();
    u = &block.u[block.n_u - 1];
    u->t0 = IP_RSI;
    u->spilled = REG_BIT(IP_RSI);
    u = add(U_INSN, LOOKUP);
    u->via_t = 1;
    u->t0 = IP_RSI;
    u->spilled = REG_BIT(IP_RSI);
    move(U_UNSPILL, RETURN, IP_RSI, 0);
    check(U_LDCHK, RETURN, IP_RSP, 8);
    add(U_RET, RETURN);
    set_liveness();
    block.fl_live_before[LOAD] = 1;
    block.u[1].fl_live = block.u[3].fl_live = 1;
}

static void drop(int k) {
    block.n_u--;
    memmove(&block.u[k], &block.u[k + 1], sizeof block.u[0] * (size_t)(block.n_u - k));
}

static void swap(int a, int b) {
    struct uinstr u = block.u[a];
    block.u[a] = block.u[b];
    block.u[b] = u;
}

/* One more of LOOKUP before uinstr k, with these registers spilled. */
static struct uinstr *insert(int k, int op, unsigned spilled) {
    struct uinstr *u = move(op, LOOKUP, 0, spilled), made = *u;
    made.dead = REG_BIT(IP_RSI);
    memmove(&block.u[k + 1], &block.u[k], sizeof block.u[0] * (size_t)(block.n_u - 1 - k));
    block.u[k] = made;
    return &block.u[k];
}

#define U(k) block.u[k]
/* The block, the stage it is of, what is wrong with it, what the verifier says. */
#define CASES(X)                                                                                                       \
    X(clean, 3, , "")                                                                                                  \
    X(tracking, 3, , "")                                                                                               \
    X(cleaned, 4, , "")                                                                                                \
    X(allocated, 5, , "")                                                                                              \
    /* operands */                                                                                                     \
    X(clean, 3, U(0).op = U_COUNT_OF, "unknown uop")                                                                   \
    X(clean, 3, block.n_u = 0, "0 uinstrs of 3 guest instructions")                                                    \
    X(clean, 3, U(3).m.base = IP_RAX, "has no memory operand")                                                         \
    X(clean, 3, U(2).m.base = 77, "of no general registers")                                                           \
    X(clean, 3, U(2).m.index = 16, "of no general registers")                                                          \
    X(clean, 3, U(2).m.index = IP_RSP, "RSP as index")                                                                 \
    X(clean, 3, (U(2).m.base = IP_REG_RIP, U(2).m.index = IP_RAX), "rip-relative with an index")                       \
    X(clean, 3, U(2).m.scale = 3, "scale 3")                                                                           \
    X(clean, 3, U(2).m.seg = IP_SEG_GS, "segment 5 of a guest address")                                                \
    X(clean, 3, U(2).size = 0, "size 0")                                                                               \
    X(clean, 3, U(3).size = 8, "size 8")                                                                               \
    X(clean, 3, U(2).imm = 1, "has no immediate")                                                                      \
    X(clean, 3, U(2).set = 1, "has no set")                                                                            \
    X(clean, 3, U(1).set = 0, "tests nothing")                                                                         \
    X(clean, 3, U(1).via_t = 1, "has no temporary as operand")                                                         \
    X(clean, 3, U(3).reg = IP_RBX, "register 3")                                                                       \
    X(clean, 3, U(4).seg = 2, "segment 2")                                                                             \
    X(clean, 3, U(2).seg = IP_SEG_FS, "segment 4")                                                                     \
    X(clean, 3, U(8).kind = 1, "kind 1")                                                                               \
    X(clean, 3, (U(8).op = U_EXIT, U(8).kind = IP_XS_LOAD), "kind 64")                                                 \
    X(clean, 3, (U(8).op = U_JCC, U(8).kind = 16), "kind 16")                                                          \
    X(clean, 3, U(2).t0 = IP_RAX, "has registers before stage 5")                                                      \
    X(clean, 3, U(8).late = 1, "leaves nothing to a stub")                                                             \
    X(clean, 3, U(2).spilled = 1, "has registers before stage 5")                                                      \
    /* places */                                                                                                       \
    X(clean, 2, , "belongs to stage 3")                                                                                \
    X(clean, 3, U(2).op = U_EARLY, "belongs to stage 4")                                                               \
    X(clean, 3, U(8).insn = N_INSN, "guest instruction 3 of 3")                                                        \
    X(clean, 3, U(2).insn = -1, "guest instruction -1 of 3")                                                           \
    X(clean, 3, drop(8), "the block has no end")                                                                       \
    X(clean, 3, add(U_SPSAVE, RETURN), "follows the end of the block")                                                 \
    X(clean, 3, block.track = true, "in a tracking translation")                                                       \
    X(tracking, 3, block.track = false, "in a clean translation")                                                      \
    X(clean, 3, swap(1, 3), "belongs before the first guest instruction")                                              \
    X(clean, 3, U(7).insn = LOAD, "of guest instruction 0 after one of 1")                                             \
    X(clean, 3, (U(4) = U(3), U(5) = U(3)), "guest instruction 0 a second time")                                       \
    X(clean, 3, drop(3), "guest instruction 0 was left out")                                                           \
    /* temporaries, checks, RSP */                                                                                     \
    X(clean, 3, drop(4), "the temporary has no value")                                                                 \
    X(tracking, 3, drop(7), "the temporary has no value")                                                              \
    X(tracking, 3, drop(2), "its checks have no TJOIN")                                                                \
    X(tracking, 3, U(1).insn = LOOKUP, "the checks before have no TJOIN")                                              \
    X(tracking, 3, U(2).insn = LOOKUP, "joins checks of another instruction")                                          \
    X(tracking, 3, drop(4), "RSP was not remembered")                                                                  \
    X(tracking, 3, swap(8, 9), "before its instruction")                                                               \
    /* liveness */                                                                                                     \
    X(cleaned, 4, U(3).dead = 0, "registers live there")                                                               \
    X(cleaned, 4, U(3).fl_live = 1, "flags are dead there")                                                            \
    X(cleaned, 4, block.fl_live_before[LOAD] = 1, "flags live there")                                                  \
    X(cleaned, 4, U(8).after_insn = 1, "on the wrong side")                                                            \
    X(cleaned, 4, (U(0).dead = block.dead_before[LOAD] = REG_BIT(IP_RSP)), "RSP is never dead")                        \
    /* registers */                                                                                                    \
    X(allocated, 5, U(0).reg = IP_RSP, "of RSP")                                                                       \
    X(allocated, 5, U(2).op = U_SPILL, "of a register that is in its slot")                                            \
    X(allocated, 5, U(0).op = U_UNSPILL, "of a register that is not in its slot")                                      \
    X(allocated, 5, U(0).spilled = 0, "mask 0000 of spilled registers, 0002 are")                                      \
    X(allocated, 5, U(6).spilled = 0, "mask 0000 of spilled registers, 0040 are")                                      \
    X(allocated, 5, U(1).t0 = IP_REG_NONE, "has no register")                                                          \
    X(allocated, 5, U(3).t0 = IP_RCX, "needs no register")                                                             \
    X(allocated, 5, U(5).t0 = IP_RSP, "register 4 for a temporary")                                                    \
    X(allocated, 5, U(5).t0 = IP_RDI, "guest value is nowhere else")                                                   \
    X(allocated, 5, (U(0).reg = U(1).t0 = U(2).reg = IP_RAX, U(0).spilled = U(1).spilled = 1), "what is not RCX")      \
    X(allocated, 5, (drop(2), U(2).spilled = REG_BIT(IP_RCX)),                                                         \
      "needs registers of the guest that are in their slots (0002)")                                                   \
    X(allocated, 5, (drop(7), U(7).spilled = U(8).spilled = REG_BIT(IP_RSI)),                                          \
      "needs registers of the guest that are in their slots (0040)")                                                   \
    X(allocated, 5,                                                                                                    \
      (U(4).reg = U(5).t0 = U(6).t0 = U(7).reg = IP_RDX,                                                               \
       U(4).spilled = U(5).spilled = U(6).spilled = REG_BIT(IP_RDX)),                                                  \
      "its temporary is its own operand")                                                                              \
    X(allocated, 5, (insns[LOOKUP].gpr_write |= REG_BIT(IP_RSI)),                                                      \
      "needs registers of the guest that are in their slots (0040)")                                                   \
    X(allocated, 5, U(6).t0 = IP_RDI, "guest value is nowhere else")                                                   \
    X(allocated, 5, insert(6, U_CSPUSH, REG_BIT(IP_RSI))->t0 = IP_RSI, "clobbers the address temporary")               \
    X(allocated, 5,                                                                                                    \
      (insert(6, U_SPILL, REG_BIT(IP_RSI) | REG_BIT(IP_RDI))->reg = IP_RDI, U(7).t0 = IP_RDI,                          \
       U(7).spilled |= REG_BIT(IP_RDI)),                                                                               \
      "the temporary is elsewhere")                                                                                    \
    X(allocated, 5,                                                                                                    \
      (insert(6, U_SPILL, REG_BIT(IP_RSI) | REG_BIT(IP_RDI))->reg = IP_RDI,                                            \
       insert(7, U_RECADDR, REG_BIT(IP_RSI) | REG_BIT(IP_RDI))->t0 = IP_RDI, U(7).m = addr_at(IP_RBX, 8),              \
       U(7).reg = IP_RDI),                                                                                             \
      "register 7 for an address")                                                                                     \
    X(allocated, 5,                                                                                                    \
      (insert(6, U_SPILL, REG_BIT(IP_RSI) | REG_BIT(IP_RDI))->reg = IP_RDI,                                            \
       insert(7, U_RECADDR, REG_BIT(IP_RSI) | REG_BIT(IP_RDI))->t0 = IP_RDI, U(7).m = addr_at(IP_RBX, 8),              \
       U(7).reg = IP_RAX),                                                                                             \
      "guest value is nowhere else")                                                                                   \
    X(allocated, 5, (U(1).fl_live = block.fl_live_before[LOAD] = U(3).fl_live = 0, U(1).size = 16),                    \
      "its register is part of its address")

struct kase {
    void (*build)(void);
    int stage;
    const char *damage, *why;
};

#define X(build, stage, damage, why) {build, stage, #damage, why},
static const struct kase cases[] = {CASES(X)};
#undef X

static void damage(int n) {
    int i = 0;
#define X(build, stage, what, why)                                                                                     \
    if (n == i++) {                                                                                                    \
        what;                                                                                                          \
        return;                                                                                                        \
    }
    CASES(X)
#undef X
}

int n_cases(void) { return sizeof cases / sizeof *cases; }
const char *case_damage(int n) { return cases[n].damage; }
const char *case_why(int n) { return cases[n].why; }

int case_accepted(int n, char *why, int cap) {
    cases[n].build();
    damage(n);
    return ip_verify(&block, cases[n].stage, why, (size_t)cap);
}
