/* What a thread of the program asks for when it comes to code without a translation: in whichever process it is made.
 */
#include <string.h>

#include "abi/channel.h"
#include "jit/keep.h"
#include "jit/transtab.h"

/* Is there something kept of the pc, which only the supervisor reads? */
static bool is_kept(const struct keeping *k, uint64_t pc) {
    for (int i = 0; i < k->n_seg; i++)
        if (pc - k->seg[i].lo < k->seg[i].hi - k->seg[i].lo)
            return k->seg[i].fd >= 0 && !k->seg[i].stale && keep_waits(k, pc);
    return false;
}

bool tt_may_serve(const struct transtab *t, const struct ip_slot *s, uint32_t kind) {
    if (!t->here || t->broken || !t->opts.sym[IP_SYM_EXIT]) return false;
    if (kind != IP_R_TRANSLATE) return true;
    if (t->opts.verify && t->stats.requests % 2) return false; /* in turns, the supervisor's being verified */
    return !t->keep || (keep_has_room(&t->keep->notes) && !is_kept(t->keep, s->a[0] & IP_KEY_PC));
}

static void translate(struct transtab *t, struct ip_slot *s) {
    bool full = false;
    t->exec_lo = s->a[2];
    t->exec_hi = s->a[3];
    if (s->a[5]) tt_stale(t, s->a[5]);
    t->unwrapped = s->a[6] & 1;
    t->past_break = s->a[6] >> 1 & 1;
    /* An exit from before a flush is another one by now. */
    s->r[0] = tt_request(t, s->a[0], s->a[4] == t->meta->generation ? (uint32_t)s->a[1] : 0, &full);
    s->r[1] = full;
    s->len = (uint32_t)t->n_new_pages * 8;
    memcpy(s->data, t->new_pages, s->len);
}

static void invalidate(struct transtab *t, struct ip_slot *s) {
    s->r[0] = tt_invalidate(t, s->a[0], s->a[1], (int)s->a[2]);
    s->r[1] = t->n_gone > IP_MAX_GONE;
    s->len = s->r[1] ? 0 : t->n_gone * (uint32_t)sizeof *t->gone;
    memcpy(s->data, t->gone, s->len);
}

void tt_serve(struct transtab *t, struct ip_slot *s, uint32_t kind) {
    switch (kind) {
    case IP_R_TRANSLATE: translate(t, s); break;
    case IP_R_INVALIDATE: invalidate(t, s); break;
    case IP_R_WATCHED: tt_watched(t, s->a[0], s->a[1] != 0); break;
    default: break;
    }
}

bool tt_has_used(const struct transtab *t) { return t->used_head != __atomic_load_n(&t->used_tail, __ATOMIC_ACQUIRE); }
