/* Translations that outlast the run: what is noted of a block when it is made. */
#include <string.h>

#include "jit/keep.h"
#include "jit/writer.h"

/* ---- The block under way ----------------------------------------------------------------------------- */

void keep_begin(struct transtab *t) {
    struct keeping *k = t->keep;
    if (!k || !k->writes) return;
    k->n_reads = k->n_unbound = 0;
    k->lost = false;
}

void keep_read(struct transtab *t, uint64_t pc, int n) {
    struct keeping *k = t->keep;
    if (!k || !k->writes || n <= 0) return;
    struct kept_read *last = k->n_reads ? &k->reads[k->n_reads - 1] : NULL;
    if (pc + (uint64_t)n > UINT32_MAX) {
        k->lost = true;
    } else if (last && pc >= last->pc && pc <= last->pc + last->n) { /* straight on */
        uint32_t end = (uint32_t)pc + (uint32_t)n;
        if (end > last->pc + last->n) last->n = end - last->pc;
    } else if (k->n_reads == KEEP_READS) {
        k->lost = true;
    } else {
        k->reads[k->n_reads++] = (struct kept_read){(uint32_t)pc, (uint32_t)n};
    }
}

void keep_unbound(struct transtab *t, uint64_t pc) {
    struct keeping *k = t->keep;
    if (!k || !k->writes) return;
    if (k->n_unbound == KEEP_UNBOUND || pc > UINT32_MAX)
        k->lost = true;
    else
        k->unbound[k->n_unbound++] = (uint32_t)pc;
}

static bool can_keep(const struct transtab *t, const struct ublock *b) {
    const struct emitted *e = t->em;
    if (t->keep->lost || t->watching || t->opts.flags != t->keep->flags) return false;
    if (b->checked || e->compare || t->ub[2]->trace || e->n_moved > EM_MAX_MOVED ||
        b->key & ~(IP_KEY_PC | IP_KEY_TRACK))
        return false;
    for (int i = 0; i < b->n_pages; i++)
        if (!tt_is_stable(t, b->pages[i]) || tt_is_checked(t, b->pages[i])) return false;
    for (int i = 0; i < e->n_exits; i++) switch (e->exits[i].kind_aux & 0xff) {
        case IP_X_FAULTPC:
        case IP_X_ILLEGAL:
        case IP_X_STOP:
        case IP_X_STALE:
        case IP_X_FULL:
        case IP_X_BREAK:
        case IP_XS_ARRIVE:
        case IP_XS_REPEATED:
        case IP_XS_ADDRESSES:
        case IP_XS_WATCH: return false;
        default: break;
        }
    return true;
}

void keep_made(struct transtab *t, uint32_t block, bool wanted) {
    struct keeping *k = t->keep;
    const struct emitted *e = t->em;
    if (!k) return;
    k->note[block] = 0;
    if (!k->writes || !wanted || !can_keep(t, t->ub[0])) return;
    struct note n = {.n_moved = (uint16_t)e->n_moved,
                     .n_reads = (uint16_t)k->n_reads,
                     .n_unbound = (uint16_t)k->n_unbound,
                     .n_exits = (uint16_t)e->n_exits,
                     .keeps_stack = t->ub[0]->keeps_stack};
    const struct uinstr *last = &t->ub[0]->u[t->ub[0]->n_u - 1];
    if (last->op == U_JMPI && last->imm) {
        n.slot = (uint32_t)t->ub[0]->insn[last->insn].mem.rip_target;
        n.guess = (uint32_t)last->imm;
    }
    for (int i = 0; i < k->n_reads; i++) n.n_guest += k->reads[i].n;
    size_t bytes = sizeof n + 4u * n.n_moved + sizeof k->reads[0] * n.n_reads + 4u * n.n_unbound + 2u * n.n_exits;
    uint32_t number;
    uint8_t *begin = keep_note_room(&k->notes, bytes + n.n_guest, &number), *at = begin;
    if (!begin) return;
    at += sizeof n;
    memcpy(begin, &n, sizeof n);
    memcpy(at, e->moved, 4u * n.n_moved);
    at += 4u * n.n_moved;
    memcpy(at, k->reads, sizeof k->reads[0] * n.n_reads);
    at += sizeof k->reads[0] * n.n_reads;
    memcpy(at, k->unbound, 4u * n.n_unbound);
    at += 4u * n.n_unbound;
    for (int i = 0; i < e->n_exits; i++, at += 2) {
        uint16_t id = (uint16_t)e->exits[i].id_off;
        memcpy(at, &id, 2);
    }
    for (int i = 0; i < k->n_reads; i++) {
        if (!tt_code_bytes(t, k->reads[i].pc, k->reads[i].n, at)) return;
        at += k->reads[i].n;
    }
    if (t->opts.verify) tt_verify_moved(t);
    k->note[block] = number;
}

uint8_t *keep_note_room(struct note_store *s, size_t bytes, uint32_t *number) {
    bytes = (bytes + KEEP_UNIT - 1) & ~(size_t)(KEEP_UNIT - 1);
    if (s->full || bytes > KEEP_NOTE || s->used + bytes > KEEP_PIECE) return NULL;
    uint8_t *room = s->piece + s->used;
    *number = (uint32_t)((s->spilled + s->used) / KEEP_UNIT) + 1;
    s->used += (uint32_t)bytes;
    return room;
}
