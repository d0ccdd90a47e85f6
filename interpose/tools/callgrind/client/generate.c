/* Code for what the run of a block costs, in place of the loops of consume.c: made for a block and a number of
 * instructions completed that have come often.  It does what the loops do, in the order of the instructions, and goes
 * on with the next record's code, if that is a run in the same context; else back to the loop (run.S).  So each block
 * has indirect jumps of its own, which are predicted by those before, and no loop that ends differently each time.
 *
 * The code lies in memory of the thread's own, which is writable while nothing runs there. */
#include <asm/unistd.h>
#include <linux/mman.h>

#include "tools/callgrind/client/simulate.h"

#define AREA    (256u << 10)
#define AREAS   64 /* of a thread */
#define NO_WORD 0xffff
/* The most that anything needs: a run's beginning and end, an access, a line or a branch, with its slow way. */
#define ENDS_BYTES 256
#define PART_BYTES 160

struct slow {
    u8 *from, *back; /* where a jump's distance lies, and where the code goes on */
    u32 number, n;
    u64 stub; /* offset in struct cg_sim */
};

/* Under way. */
struct code {
    u8 *at;
    struct slow *slow;
    u32 n_slow;
    const struct cg_plan *plan;
};

static void put(struct code *c, const char *bytes, u64 n) {
    memcpy(c->at, bytes, n);
    c->at += n;
}
#define PUT(bytes) put(c, bytes, sizeof(bytes) - 1)

static void put32(struct code *c, u64 value) {
    u32 v = (u32)value;
    memcpy(c->at, &v, 4);
    c->at += 4;
}

static void put64(struct code *c, u64 v) {
    memcpy(c->at, &v, 8);
    c->at += 8;
}

static bool is_32(u64 v) { return (u64)(i64)(int)v == v; }

/* A jump out of the way, whose distance is still to be put. */
static void slowly(struct code *c, u8 *back, u64 stub, u32 number, u32 n) {
    c->slow[c->n_slow++] = (struct slow){c->at, back, number, n, stub};
    put32(c, 0);
}

/* All jumps since `first` come back here. */
static void back_here(struct code *c, u32 first) {
    for (u32 i = first; i < c->n_slow; i++) c->slow[i].back = c->at;
}

static void land(struct code *c, u8 *from) {
    u32 distance = (u32)(c->at - from - 4);
    memcpy(from, &distance, 4);
}

/* jmp *stub(%rbp) */
static void leave_by(struct code *c, u64 stub) {
    PUT("\xff\xa5");
    put32(c, stub);
}

static void put_slow_ways(struct code *c) {
    for (u32 i = 0; i < c->n_slow; i++) {
        const struct slow *s = &c->slow[i];
        land(c, s->from);
        if (s->stub == offsetof(struct cg_sim, cross)) {
            leave_by(c, s->stub);
            continue;
        }
        PUT("\xb9"); /* mov $number, %ecx */
        put32(c, s->number);
        if (s->n) {
            PUT("\xb8"); /* mov $n, %eax */
            put32(c, s->n);
        }
        PUT("\xff\x95"); /* call *stub(%rbp) */
        put32(c, s->stub);
        PUT("\xe9");
        put32(c, (u64)(s->back - c->at - 4));
    }
}

/* A word of the record to RAX or RCX. */
static void word(struct code *c, u32 reg, u32 number) {
    PUT("\x48\x8b");
    *c->at++ = (u8)(0x83 | reg << 3); /* mov disp(%rbx), reg */
    put32(c, 8 + 8 * number);
}

/* The address of an access to RAX; false: by the slow way alone. */
static bool address(struct code *c, const struct ip_tr_access *a) {
    u64 disp = (u64)a->disp;
    if (a->seg == IP_SEG_GS || a->flags & (IP_TRA_BIT | IP_TRA_BYTE | IP_TRA_ADDR32)) return false;
    if (a->base == NO_WORD && a->index == NO_WORD) {
        PUT("\x48\xb8"); /* mov $disp, %rax */
        put64(c, disp);
    } else {
        if (!is_32(disp)) return false;
        u32 scale = a->index == NO_WORD ? 0 : (u32)__builtin_ctz(a->scale);
        if (a->base != NO_WORD) word(c, 0, a->base);
        if (a->index != NO_WORD) {
            word(c, 1, a->index);
            if (a->base == NO_WORD) {
                PUT("\x48\x8d\x04"); /* lea disp(,%rcx,scale), %rax */
                *c->at++ = (u8)(scale << 6 | 1 << 3 | 5);
            } else {
                PUT("\x48\x8d\x84"); /* lea disp(%rax,%rcx,scale), %rax */
                *c->at++ = (u8)(scale << 6 | 1 << 3);
            }
            put32(c, disp);
        } else if (disp) {
            PUT("\x48\x05"); /* add $disp, %rax */
            put32(c, disp);
        }
    }
    if (a->seg == IP_SEG_FS) {
        PUT("\x48\x03\x85"); /* add fs(%rbp), %rax */
        put32(c, offsetof(struct cg_sim, fs));
    }
    return true;
}

static void put_access(struct code *c, u32 number) {
    const struct ip_tr_access *a = &tr_accesses(c->plan->block)[c->plan->templates[number]];
    u32 line = cg.d1.line, more = (a->size ? a->size : 1u) - 1, first = c->n_slow;
    if (!address(c, a) || more >= line) {
        PUT("\xe9");
        slowly(c, 0, offsetof(struct cg_sim, slow_other), number, 0);
        back_here(c, first);
        return;
    }
    PUT("\x48\x89\xc1\x48\xc1\xe9"); /* mov %rax, %rcx; shr $shift, %rcx */
    *c->at++ = (u8)__builtin_ctz(line);
    PUT("\x89\xca\x81\xe2"); /* mov %ecx, %edx; and $., %edx */
    put32(c, CG_GUESSES - 1);
    PUT("\x41\x0f\xb7\x94\x54"); /* movzwl guess(%r12,%rdx,2), %edx */
    put32(c, offsetof(struct cg_cache, guess) - offsetof(struct cg_cache, way));
    PUT("\x49\x39\x0c\xd4\x0f\x85"); /* cmp %rcx, (%r12,%rdx,8); jne */
    slowly(c, 0, offsetof(struct cg_sim, slow_data), number, 0);
    if (more) {
        PUT("\x89\xc1\x81\xe1"); /* mov %eax, %ecx; and $., %ecx */
        put32(c, line - 1);
        PUT("\x81\xf9"); /* cmp $., %ecx; ja */
        put32(c, line - 1 - more);
        PUT("\x0f\x87");
        slowly(c, 0, offsetof(struct cg_sim, slow_data), number, 0);
    }
    PUT("\x49\xff\xc5\x4d\x89\x6c\xd4\x08"); /* inc %r13; mov %r13, 8(%r12,%rdx,8) */
    back_here(c, first);
}

/* R11: the plan's lines. */
static void put_line(struct code *c, u32 number, u32 n) {
    u32 first = c->n_slow;
    PUT("\x41\x8b\x93"); /* mov way(%r11), %edx */
    put32(c, number * sizeof(struct cg_line) + offsetof(struct cg_line, way));
    PUT("\x49\x81\x3c\xd2"); /* cmpq $line, (%r10,%rdx,8) */
    put32(c, c->plan->lines[number].line);
    PUT("\x0f\x85");
    slowly(c, 0, offsetof(struct cg_sim, slow_line), number, n);
    PUT("\x49\xff\xc5\x4d\x89\x6c\xd2\x08"); /* inc %r13; mov %r13, 8(%r10,%rdx,8) */
    back_here(c, first);
}

/* RDI: the counter. */
static void put_branch(struct code *c, u32 at, u32 number, bool taken) {
    PUT("\x42\x0f\xb6\x8c\x05"); /* movzbl conditional+at(%rbp,%r8), %ecx */
    put32(c, offsetof(struct cg_sim, conditional) + at);
    PUT("\x89\xca\xd1\xea"); /* mov %ecx, %edx; shr %edx */
    if (taken)
        PUT("\x83\xf2\x01\x83\xf9\x03\x83\xd1\x00"); /* xor $1, %edx; cmp $3, %ecx; adc $0, %ecx */
    else
        PUT("\x83\xe9\x01\x83\xd1\x00"); /* sub $1, %ecx; adc $0, %ecx */
    PUT("\x42\x88\x8c\x05");             /* mov %cl, conditional+at(%rbp,%r8) */
    put32(c, offsetof(struct cg_sim, conditional) + at);
    PUT("\x48\x8b\x8f"); /* mov missed(%rdi), %rcx */
    put32(c, offsetof(struct cg_counter, missed));
    PUT("\x48\x01\x91"); /* add %rdx, number*8(%rcx) */
    put32(c, 8 * number);
    PUT("\x49\x01\xd1\x45\x01\xc0"); /* add %rdx, %r9; add %r8d, %r8d */
    if (taken) PUT("\x41\x83\xc8\x01");
    PUT("\x41\x83\xe0\x7f"); /* and $., %r8d */
}
_Static_assert(CG_HISTORY == 7, "the mask above");

/* The place is in RAX, and is the next record's: its code. */
static void go_on(struct code *c) {
    PUT("\x48\x89\xc6\x0f\xb7\x4b\x04\x48\x8b\x56"); /* mov %rax, %rsi; movzwl 4(%rbx), %ecx; mov exits(%rsi), %rdx */
    *c->at++ = offsetof(struct cg_place, exits);
    PUT("\x8d\x0c\x49\xff\x64\xca"); /* lea (%rcx,%rcx,2), %ecx; jmp *code(%rdx,%rcx,8) */
    *c->at++ = offsetof(struct cg_exit, code);
}
_Static_assert(sizeof(struct cg_exit) == 24, "three times eight");

/* To the place in RAX. */
static void put_indirect(struct code *c, const struct cg_place *at) {
    u32 target = (u32)offsetof(struct cg_sim, indirect) + 8 * at->branches[at->end_branch];
    PUT("\x48\x8b\x48"); /* mov pc(%rax), %rcx */
    *c->at++ = offsetof(struct cg_place, pc);
    PUT("\x48\xff\x85"); /* incq indirects(%rbp) */
    put32(c, offsetof(struct cg_sim, indirects));
    PUT("\x48\x3b\x8d"); /* cmp target(%rbp), %rcx; je */
    put32(c, target);
    PUT("\x0f\x84");
    u8 *same = c->at;
    put32(c, 0);
    PUT("\x48\x89\x8d"); /* mov %rcx, target(%rbp) */
    put32(c, target);
    PUT("\x48\xff\x85"); /* incq misdirected(%rbp) */
    put32(c, offsetof(struct cg_sim, misdirected));
    PUT("\x48\x8b\x8f"); /* mov missed(%rdi), %rcx; incq number*8(%rcx) */
    put32(c, offsetof(struct cg_counter, missed));
    PUT("\x48\xff\x81");
    put32(c, 8u * at->end_branch);
    land(c, same);
}

/* From the record to the next one, if that is a run in this context.  An event has no context. */
static void put_end(struct code *c, const struct cg_place *at, bool complete) {
    const struct ip_tr_block *b = c->plan->block;
    u32 step = 8 + 8u * b->n_words;
    bool jumps = complete && b->end == IP_TR_JMPI && b->sp_word != 0xffffffff && !cg.jumps;
    PUT("\x48\x89\x9d"); /* mov %rbx, last(%rbp) */
    put32(c, offsetof(struct cg_sim, last));
    if (complete && at->leaves && !jumps) {
        PUT("\x48\x81\xc3"); /* add $step, %rbx */
        put32(c, step);
        leave_by(c, offsetof(struct cg_sim, cross));
        return;
    }
    PUT("\x8b\x83"); /* mov step(%rbx), %eax */
    put32(c, step);
    if (jumps) {
        word(c, 1, b->sp_word);
        PUT("\x48\x81\xc1"); /* add $., %rcx */
        put32(c, (u64)(i64)b->sp_disp);
    }
    PUT("\x48\x81\xc3"); /* add $step, %rbx */
    put32(c, step);
    if (jumps) {
        PUT("\x48\x3b\x8d"); /* cmp limit(%rbp), %rcx; jae */
        put32(c, offsetof(struct cg_sim, limit));
        PUT("\x0f\x83");
        slowly(c, 0, offsetof(struct cg_sim, cross), 0, 0);
    }
    PUT("\x3d"); /* cmp $., %eax; jb */
    put32(c, IP_TR_EVENTS);
    PUT("\x0f\x82");
    slowly(c, 0, offsetof(struct cg_sim, cross), 0, 0);
    PUT("\x83\xe0\xc0\x48\x03\x85"); /* and $-64, %eax; add offset(%rbp), %rax */
    put32(c, offsetof(struct cg_sim, from_templates));
    PUT("\x48\x8b\x10\x48\x3b\x95"); /* mov (%rax), %rdx; cmp context(%rbp), %rdx; jne */
    put32(c, offsetof(struct cg_sim, context));
    PUT("\x0f\x85");
    slowly(c, 0, offsetof(struct cg_sim, cross), 0, 0);
    if (jumps && cg.branches) put_indirect(c, at);
    if (complete && b->end == IP_TR_JCC) {
        PUT("\x48\x81\x78"); /* cmpq $target, pc(%rax) */
        *c->at++ = offsetof(struct cg_place, pc);
        put32(c, b->target);
        PUT("\x0f\x85"); /* jne */
        u8 *other = c->at;
        put32(c, 0);
        PUT("\x48\xff\x87"); /* incq taken(%rdi) */
        put32(c, offsetof(struct cg_counter, taken));
        if (cg.branches) put_branch(c, at->branches[at->end_branch], at->end_branch, true);
        go_on(c);
        land(c, other);
        if (cg.branches) put_branch(c, at->branches[at->end_branch], at->end_branch, false);
    }
    go_on(c);
}
_Static_assert(offsetof(struct cg_place, context) == 0 && sizeof(struct cg_place) == 64, "what put_end says");

static bool is_possible(const struct cg_place *at, u64 done) {
    const struct cg_plan *p = cg_plan_at(at);
    const struct cg_exit *e = &at->exits[done];
    for (u32 i = 0; i < e->n_lines; i++)
        if (!is_32(p->lines[i].line)) return false;
    return !e->special && is_32(p->block->target) && is_32(CG_READS(e->sum) | CG_WRITES(e->sum) * CG_WRITE);
}

static void make(struct code *c, const struct cg_place *at, u64 done) {
    const struct cg_plan *p = c->plan;
    const struct cg_exit *e = &at->exits[done];
    u32 k = 0;
    PUT("\x48\x8b\x7e"); /* mov counter(%rsi), %rdi */
    *c->at++ = offsetof(struct cg_place, counter);
    PUT("\x48\xff\x87"); /* incq runs+done*8(%rdi) */
    put32(c, offsetof(struct cg_counter, runs) + 8 * done);
    PUT("\x49\x81\xc6"); /* add $., %r14 */
    put32(c, CG_INSNS_BRANCHES(done, CG_BRANCHES(e->sum)));
    if (e->n_accesses) {
        PUT("\x49\x81\xc7"); /* add $., %r15 */
        put32(c, CG_READS(e->sum) | CG_WRITES(e->sum) * CG_WRITE);
    }
    for (u32 i = 0; i < e->n_lines; i++) {
        while (k < p->lines[i].before) put_access(c, k++);
        PUT("\x49\xbb"); /* mov $lines, %r11 */
        put64(c, (u64)p->lines);
        put_line(c, i, e->n_lines);
    }
    while (k < e->n_accesses) put_access(c, k++);
    for (k = 0; k < e->n_passed; k++) put_branch(c, at->branches[k], k, false);
    if (e->taken) put_branch(c, at->branches[k], k, true);
    put_end(c, at, done == at->n);
    put_slow_ways(c);
}

static bool protect(u8 *area, int how) { return sys3(__NR_mprotect, (long)area, AREA, how) == 0; }

void cg_generate(struct thread *t) {
    struct cg_sim *s = t->sim;
    u32 n = s->n_wanted;
    s->n_wanted = 0;
    if (s->n_areas > AREAS) return;
    if (s->area && !protect(s->area, PROT_READ | PROT_WRITE)) return;
    for (u32 i = 0; i < n; i++) {
        struct cg_place *at = s->wanted[i].at;
        u64 done = s->wanted[i].done;
        struct cg_exit *e = (struct cg_exit *)&at->exits[done];
        if (e->code != (u64)cg_settled || !is_possible(at, done)) continue;
        u32 parts = e->n_accesses + e->n_lines + e->n_passed + 4u;
        u64 room = ENDS_BYTES + parts * PART_BYTES;
        if (room > AREA) continue;
        if (!s->area || s->area_used + room > AREA) {
            if (s->area) protect(s->area, PROT_READ | PROT_EXEC);
            if (++s->n_areas > AREAS) return;
            s->area = rt_pages(AREA);
            s->area_used = 0;
            /* Not everywhere may memory become code. */
            if (!protect(s->area, PROT_READ | PROT_EXEC) || !protect(s->area, PROT_READ | PROT_WRITE)) {
                s->n_areas = AREAS + 1;
                s->area = 0;
                return;
            }
        }
        struct slow slow[2 * parts];
        struct code c = {s->area + s->area_used, slow, 0, cg_plan_at(at)};
        u8 *code = c.at;
        make(&c, at, done);
        s->area_used = RT_ROUND_UP((u64)(c.at - s->area), 16);
        e->code = (u64)code;
    }
    if (s->area && !protect(s->area, PROT_READ | PROT_EXEC))
        rt_die("out of memory: the kernel takes back %u bytes of code", AREA);
}
