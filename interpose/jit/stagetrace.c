/* Looks at translations under way that only the supervisor takes: --trace-flags, and the verifier of the tests. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "jit/keep.h"
#include "jit/lastwords.h"
#include "jit/transtab.h"

static void trace_stage(struct transtab *t, int stage, const struct ublock *b) {
    if (t->trace_fd < 0 || !t->trace[stage - 1]) return;
    if (t->stats.blocks < t->trace_from || t->stats.blocks > t->trace_to) return;
    static const char *const title[] = {"From x86 to UCode", "Optimised",           "Instrumented",
                                        "Cleaned up",        "Registers allocated", "Emitted"};
    size_t cap = 1 << 18;
    char *text = ip_alloc(1, cap);
    int n = snprintf(text, cap, "==== Stage %d: %s: 0x%llx (block %llu) ====\n", stage, title[stage - 1],
                     (unsigned long long)b->key, (unsigned long long)t->stats.blocks);
    if (stage < 6)
        n += ip_print_ublock(b, text + n, (int)cap - n);
    else
        for (uint32_t i = 0; i < t->em->len && n < (int)cap - 64; i++)
            n += snprintf(text + n, cap - (size_t)n, "%02x%s", t->em->code[i], i % 32 == 31 ? "\n" : " ");
    if (n < (int)cap - 2) text[n++] = '\n';
    if (write(t->trace_fd, text, (size_t)n) < 0) t->trace_fd = -1;
    free(text);
}

void tt_stage_done(struct transtab *t, int stage, const struct ublock *b) {
    char why[200];
    trace_stage(t, stage, b);
    if (stage < 6 && t->opts.verify && !b->overflow && !ip_verify(b, stage, why, sizeof why)) ip_internal_error(why);
}

/* Made for another place and moved, the block must be the one that is made there. */
void tt_verify_moved(struct transtab *t) {
    struct emitted *e = t->em;
    struct emitted *other = ip_alloc(1, sizeof *other);
    other->work = e->work;
    const struct code_place *made = &e->place;
    ip_stage6_emit(t->ub[2], other, made->host + 0x123450, made->cold ? made->cold + 0x65438 : 0, &t->opts);
    keep_move(e->code, e->moved, e->n_moved, made, &other->place);
    bool same = e->len == other->len && memcmp(e->code, other->code, e->len) == 0;
    free(other);
    if (!same) ip_internal_error("a translation depends on its place in a way that is not noted");
}
