/* Stage 6 by itself, on a block of one uinstr (test_emit.py). */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "jit/emit.h"
#include "jit/ways.h"

static jmp_buf told;
static char text[100];

void tt_no_code(uint64_t key, const char *name, int number) {
    snprintf(text, sizeof text, "%s (%d) at 0x%llx", name, number, (unsigned long long)key);
    longjmp(told, 1);
}
void *ip_alloc(size_t n, size_t size) { return calloc(n, size); }

/* Of other files; the uinstrs here come to none of them. */
void copy_insn(struct writer *w, const struct ip_insn *in, int temp) { (void)w, (void)in, (void)temp, abort(); }
void copy_insn_gs(struct writer *w, const struct ip_insn *in) { (void)w, (void)in, abort(); }
void copy_loop(struct writer *w, const struct ip_insn *in, int distance) { (void)w, (void)in, (void)distance, abort(); }
bool em_may_overwrite(const struct em *m, const struct uinstr *u) { (void)m, (void)u, abort(); }
void em_overwrite_stub(struct em *m, const struct stub *s) { (void)m, (void)s, abort(); }
void em_track_stub(struct em *m, const struct stub *s) { (void)m, (void)s, abort(); }

int emit_kinds(void) { return U_COUNT_OF; }
int emit_join(void) { return U_TJOIN; }

/* What is said of a block at 0x1234 with this uop; "too long"; or "" if there is code. */
const char *emit_said_of(int op) {
    static struct emitted emitted;
    static struct ip_insn insn[2];
    struct ip_jit_opts options = {0};
    struct ublock *block = calloc(1, sizeof *block);
    block->key = block->pc = 0x1234;
    block->insn = insn;
    block->n_insn = 1;
    ub_add(block, op, 0);
    text[0] = 0;
    if (!setjmp(told)) {
        ip_stage6_emit(block, &emitted, 0x10000000, 0, &options);
        if (emitted.overflow) strcpy(text, "too long");
    }
    free(block);
    return text;
}
