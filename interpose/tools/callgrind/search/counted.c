/* Runs that callgrind's client has counted in line, as rows of costs and calls: see abi/count.h. */
#include <stdlib.h>
#include <string.h>

#include "abi/space.h"
#include "taking.h"
#include "tools/callgrind/blocks.h"

/* Runs counted in line (abi/count.h), by the number of instructions that they completed: added to runs. */
void cg_unfold(const uint64_t *counts, const struct ip_tr_block *b, const struct ip_tr_insn *insn, uint64_t *runs) {
    uint64_t whole = counts[0];
    uint32_t k = 1, end = b->active_word ? b->active_word : b->site_word ? b->site_word : b->n_words;
    for (uint32_t i = 0; i + 1 < b->n_insns && k < end; i++) {
        if (insn[i].kind != IP_TR_COND_JUMP) continue;
        runs[i + 1] += counts[k];
        whole -= counts[k++];
    }
    runs[b->n_insns] += whole;
}

/* Basic blocks beyond the first one of each run, of which reached[i] have completed instruction i. */
uint64_t cg_inner_blocks(const struct ip_tr_insn *insn, uint32_t n, const uint64_t *reached) {
    uint64_t more = 0;
    for (uint32_t i = 1; i < n; i++)
        if (cg_ends_block(&insn[i - 1])) more += reached[i];
    return more;
}

/* A name of what begins with the block. */
struct cg_name cg_name_of(const struct ip_tr_block *b, uint32_t level) {
    return (struct cg_name){.function = b->function, .level = level, .entry = b->function & CG_F_UNKNOWN ? b->home : 0};
}

/* Calls that translated code has counted, and what they went through on their way. */
static void add_site(struct sink *s, struct names *n, struct memory *m, uint32_t context, uint64_t pc,
                     const struct ip_ct_site *site, int links) {
    if (links && site->link_insns) {
        uint64_t *cost = cg_add_row(s, (struct cg_row){.kind = CG_COST, .context = context, .pc = pc});
        if (cost) cost[0] = site->link_insns;
    }
    const struct ip_tr_block *b = site->callee ? cg_at(m, (const void *)(uint64_t)site->callee, sizeof *b) : NULL;
    for (uint32_t level = 0; b && level < 2; level++) {
        if (!site->at[level].count && !site->at[level].cost) continue;
        uint64_t *cost = cg_add_row(s, (struct cg_row){.kind = CG_CALLS,
                                                       .context = context,
                                                       .pc = pc,
                                                       .target = b->pc,
                                                       .callee = cg_name_number(n, cg_name_of(b, level)),
                                                       .count = site->at[level].count});
        if (cost) cost[0] = site->at[level].cost;
    }
}

int cg_find_blocks(struct memory *m) {
    uint64_t room = 0, where = (uint64_t)IP_TRACE_BASE;
    const struct ip_tr_block *b;
    for (; (b = cg_at(m, (const void *)where, sizeof *b)) && b->bytes >= sizeof *b; where += b->bytes) {
        const struct ip_tr_insn *insn = cg_at(m, (const void *)(where + sizeof *b), b->n_insns * sizeof *insn);
        if (!insn || b->first_word + (uint64_t)b->n_words > m->words || !b->n_words) break;
        if (m->n_blocks == room) {
            room = room ? 2 * room : 4096;
            struct counted *more = realloc(m->blocks, room * sizeof *more);
            if (!more) return -1;
            m->blocks = more;
        }
        m->blocks[m->n_blocks++] = (struct counted){b, insn, b->first_word};
    }
    return 0;
}

/* Runs of a template counted in line in a context, and the calls from its site. */
static void add_words(struct sink *s, struct names *n, struct memory *m, uint32_t context, const struct counted *c,
                      const uint64_t *words) {
    const struct ip_tr_block *b = c->block;
    if (!words[0]) return;
    uint64_t runs[b->n_insns + 1], sum = 0; /* the stack may be small (ulimit -s) */
    memset(runs, 0, sizeof runs);
    cg_unfold(words, b, c->insn, runs);
    s->t->n_blocks += runs[0];
    /* Each instruction was completed by the runs that ended behind it. */
    for (uint32_t i = b->n_insns; i > 0; i--) runs[i] = sum += runs[i];
    s->t->n_blocks += sum + cg_inner_blocks(c->insn, b->n_insns, runs + 1);
    for (uint32_t i = 0; i < b->n_insns && runs[i + 1]; i++) {
        uint64_t *cost = cg_add_row(s, (struct cg_row){.kind = CG_COST, .context = context, .pc = c->insn[i].pc});
        if (cost) cost[0] = runs[i + 1];
    }
    if (b->site_word)
        add_site(s, n, m, context, c->insn[b->n_insns - 1].pc, (const struct ip_ct_site *)(words + b->site_word),
                 b->n_words - b->site_word == IP_CT_SITE_WORDS);
}

/* Words of a table, from a client's address, with what calls under way have cost. */
static int read_words(struct memory *m, int mem, uint64_t *words, uint64_t n, uint64_t from) {
    if (cg_read_all(mem, words, n * sizeof *words, from) < 0) return -1;
    size_t lo = 0, hi = m->n_late;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (m->late[mid].at < from)
            lo = mid + 1;
        else
            hi = mid;
    }
    for (; lo < m->n_late && m->late[lo].at - from < n * sizeof *words; lo++)
        words[(m->late[lo].at - from) / sizeof *words] += m->late[lo].cost;
    return 0;
}

/* Runs counted in line, of functions with names at one level of recursion. */
static int add_level(struct sink *s, struct names *n, struct memory *m, int mem, uint64_t from, uint32_t level) {
    uint64_t *words = malloc((m->words + 1) * sizeof *words);
    struct cg_name last = {0};
    uint32_t number = 0;
    if (!words || read_words(m, mem, words, m->words, from) < 0) {
        free(words);
        return words ? 0 : -1;
    }
    for (uint64_t k = 0; k < m->n_blocks; k++) {
        const struct counted *c = &m->blocks[k];
        if (!words[c->first_word]) continue;
        struct cg_name name = cg_name_of(c->block, level);
        if (!number || last.function != name.function || last.entry != name.entry) {
            last = name;
            number = cg_name_number(n, last);
        }
        add_words(s, n, m, number, c, words + c->first_word);
    }
    free(words);
    return 0;
}

/* ---- Contexts with a table of their own ---------------------------------------------------- */

static int by_part(const void *a, const void *b) {
    const struct counted *x = *(const struct counted *const *)a, *y = *(const struct counted *const *)b;
    if (x->block->where != y->block->where) return x->block->where < y->block->where ? -1 : 1;
    return x->first_word < y->first_word ? -1 : x->first_word > y->first_word;
}

enum { PAGE = 4096 };

static uint64_t pages_of(const struct memory *m) { return (m->words * sizeof *m->table + PAGE - 1) / PAGE; }

/* The templates of parts, by part and word; and room for a table. */
static int index_parts(struct memory *m) {
    m->placed = malloc((m->n_blocks + 1) * sizeof *m->placed);
    m->table = calloc(pages_of(m) + 1, PAGE);
    m->spans = malloc((pages_of(m) + 1) * sizeof *m->spans);
    if (!m->placed || !m->table || !m->spans) return -1;
    for (uint64_t k = 0; k < m->n_blocks; k++)
        if (m->blocks[k].block->where & IP_CT_BLOCK) m->placed[m->n_placed++] = &m->blocks[k];
    qsort(m->placed, m->n_placed, sizeof(struct counted *), by_part);
    return 0;
}

/* Of those, the first one of a part whose words begin with this one or behind it. */
static size_t part_at(const struct memory *m, uint32_t where, uint64_t word) {
    size_t lo = 0, hi = m->n_placed;
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        const struct counted *c = m->placed[mid];
        if (c->block->where < where || (c->block->where == where && c->first_word < word))
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void cg_add_apart(struct sink *s, struct names *n, struct memory *m, int mem, uint32_t context,
                  const struct cg_context *x) {
    if (!m->placed && index_parts(m) < 0) s->failed = 1;
    if (s->failed) return;
    /* Hundreds may have a table of megabytes each, nearly empty, and what is read of it is a page from then on. */
    size_t pages = pages_of(m), n_read = 0;
    size_t n_spans = ip_touched(m->pagemap, x->apart, x->apart + pages * PAGE, 1, m->spans, pages + 1);
    for (size_t k = 0; k < n_spans; k++) /* to words */
        m->spans[k] = (struct ip_range){(m->spans[k].start - x->apart) / sizeof *m->table,
                                        (m->spans[k].end - x->apart) / sizeof *m->table};
    while (n_read < n_spans) {
        const struct ip_range *w = &m->spans[n_read];
        if (read_words(m, mem, m->table + w->start, w->end - w->start, x->apart + w->start * sizeof *m->table) < 0)
            break;
        n_read++;
    }
    const struct cg_part *p;
    for (const struct cg_part *a = x->parts; a && (p = cg_at(m, a, sizeof *p)); a = p->next)
        for (size_t k = 0; k < n_read; k++)
            for (size_t i = part_at(m, p->where, m->spans[k].start); i < m->n_placed; i++) {
                const struct counted *c = m->placed[i];
                if (c->block->where != p->where || c->first_word >= m->spans[k].end) break;
                add_words(s, n, m, context, c, m->table + c->first_word);
            }
    for (size_t k = 0; k < n_spans; k++) /* words of a template may go on where nothing was touched */
        memset(m->table + m->spans[k].start, 0, (m->spans[k].end - m->spans[k].start) * sizeof *m->table);
}

int cg_add_levels(struct sink *s, struct names *n, struct memory *m, int mem, const struct cg_thread *t) {
    int r = 0;
    for (uint32_t level = 0; level < CG_LEVELS && !r; level++)
        if (t->levels[level]) r = add_level(s, n, m, mem, (uint64_t)t->levels[level], level);
    return r;
}

int cg_add_late(struct memory *m, uint64_t at, uint64_t cost) {
    if (m->n_late == m->room_late) {
        size_t room = m->room_late ? 2 * m->room_late : 256;
        struct late *more = realloc(m->late, room * sizeof *more);
        if (!more) return -1;
        m->late = more;
        m->room_late = room;
    }
    m->late[m->n_late++] = (struct late){at, cost};
    return 0;
}

static int by_place(const void *a, const void *b) {
    uint64_t x = ((const struct late *)a)->at, y = ((const struct late *)b)->at;
    return x < y ? -1 : x > y;
}

void cg_sort_late(struct memory *m) {
    if (m->n_late) qsort(m->late, m->n_late, sizeof *m->late, by_place);
}
