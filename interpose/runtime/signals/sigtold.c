/* One error for one access, although a signal is delivered between its report and the access.
 *
 * The report takes milliseconds, so a signal often comes meanwhile (Go preempts its threads by signals).  The
 * handler runs before the instruction, which begins anew when it returns, with its checks: what these find has
 * been told.  The instruction is known again by its pc and the registers.
 */
#include "runtime/signals/signals.h"
#include "runtime/signals/sig.h"

static u64 registers(const struct tstate *ts) {
    u64 sum = 0;
    for (int i = 0; i < 16; i++) sum = sum * 0x9e3779b97f4a7c15ull + ts->gpr[i];
    return sum;
}

static bool same(const struct tstate *ts, const struct sig_told *t) {
    return t->pc == (ts->pc & IP_KEY_PC) && t->registers == registers(ts);
}

bool rt_told_before(struct tstate *ts, u64 addr) {
    struct sig_told *t = &sig_priv(ts)->told;
    bool known = t->state != SIG_TOLD_NOTHING && same(ts, t);
    if (known && t->state == SIG_TOLD_INTERRUPTED) {
        if (++t->again >= t->n) /* all of them: now for the access */
            t->state = SIG_TOLD, t->again = 0;
        return true;
    }
    /* One instruction may have several, upwards; a loop comes back to the same address. */
    t->n = known && addr > t->addr ? t->n + 1 : 1;
    t->state = SIG_TOLD;
    t->again = 0;
    t->pc = ts->pc & IP_KEY_PC;
    t->addr = addr;
    t->registers = registers(ts);
    return false;
}

void sig_told_interrupted(struct tstate *ts) {
    struct sig_told *t = &sig_priv(ts)->told;
    if (t->state == SIG_TOLD && same(ts, t)) t->state = SIG_TOLD_INTERRUPTED;
}

void sig_told_done(struct tstate *ts) {
    struct sig_told *t = &sig_priv(ts)->told;
    if (t->pc == (ts->pc & IP_KEY_PC)) t->state = SIG_TOLD_NOTHING;
}
