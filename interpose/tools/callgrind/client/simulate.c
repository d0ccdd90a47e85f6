/* What runs cost beside instructions: caches, branches. */
#include "runtime/base/rt.h"
#include "tools/callgrind/client/callgrind.h"

void cg_simulate(struct thread *t, struct cg_counter *c, const u64 *words, u64 done, struct tstate *ts) {
    (void)t, (void)c, (void)words, (void)done, (void)ts;
}
void cg_branch(struct thread *t, struct cg_counter *c, u64 insn, bool taken) {
    (void)t, (void)c, (void)insn, (void)taken;
}
void cg_indirect(struct thread *t, struct cg_counter *c, u64 insn, u64 target) {
    (void)t, (void)c, (void)insn, (void)target;
}
