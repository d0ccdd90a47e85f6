/* Traps of debug registers, a tracer's or of perf_event_open: they come behind the instruction that accessed
 * (SDM volume 3, 17.3.1.1), which may be one of several of ours.
 */
#include "runtime/core/core.h"
#include "runtime/signals/sig.h"

/* A trap of a debug register waits: what accessed is done, and whatever comes next may not be. */
static bool waits(const struct sig_priv *p) {
    return p->watched || (p->vpend & SIG_BIT(SIG_TRAP) && p->vinfo[sig_sync_index(SIG_TRAP)].code == TRAP_PERF);
}

/* So it is told at once: what accessed has a point behind it, and a repeated one stops amid its elements.  Not where
 * the V bits of the next one have been computed. */
bool sig_traps_behind(const struct sig_priv *p, const struct sig_context *mc, const struct ip_block *b,
                      const struct ip_point *pt) {
    bool other = b->host != p->hit_block || pt->guest_off != p->hit_off;
    bool computed = (b->key & IP_KEY_TRACK) && (pt->flags & IP_PF_GUEST) && !(pt->flags & IP_PF_BOUNDARY);
    if (!waits(p) || (pt->flags & IP_PF_COMMITTED)) return false;
    return (other && !computed) || ((pt->flags & IP_PF_GUEST) && sig_repeats(mc->ip));
}

void sig_note_hit(struct sig_priv *p, u64 ip) {
    const struct ip_block *b = rt_block_of(ip - 1);
    struct ip_point pt;
    bool known = b && rt_point_of(b, ip - 1, &pt);
    p->hit_block = known ? b->host : 0;
    p->hit_off = known ? pt.guest_off : 0;
}
