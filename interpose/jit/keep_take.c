/* A block that was kept becomes one of the run's, if everything that it was made of is the same. */
#include "jit/keep.h"

#include <string.h>

#include "abi/inline/pcs.h"
#include "abi/inline/points.h"

/* Where its arrays are. */
struct parts {
    const struct kept_block *b;
    const struct kept_exit *exits;
    const struct ip_insn *descs;
    const struct kept_read *reads;
    const uint32_t *pages, *unbound;
    const uint16_t *moved[KEEP_MOVED];
    const uint8_t *points, *pcs, *guest, *host;
};

static bool part(const uint8_t **at, const uint8_t *end, const void *out, size_t size, size_t n) {
    if ((size_t)(end - *at) < size * n) return false;
    memcpy((void *)(uintptr_t)out, at, sizeof *at);
    *at += size * n;
    return true;
}

/* Points and pcs are what they say: as many as are counted, in their bytes, of places in the block.  (A chunk has room
 * behind it for what is read of a point or pc that is cut off.) */
static bool are_packed(const struct parts *p) {
    const struct kept_block *b = p->b;
    const uint8_t *at = p->points, *end = at + b->points_bytes;
    struct ip_point point = {0};
    for (unsigned i = 0; i < b->n_points; i++) {
        uint16_t before = point.host_off;
        if (at >= end) return false;
        at = ip_point_take(at, &point);
        if (point.host_off > b->host_len || point.guest_off > b->n_insns || (i && point.host_off < before))
            return false;
    }
    if (at != end || b->pcs_bytes < IP_PCS_HEAD) return false;
    at = p->pcs + IP_PCS_HEAD;
    end = p->pcs + b->pcs_bytes;
    for (unsigned i = 0; i < b->n_insns; i++) {
        if (at >= end) return false;
        ip_pcs_step(&at);
    }
    return at == end;
}

/* Nothing of it leads out of it, whatever it says. */
static bool is_whole(const struct parts *p) {
    const struct kept_block *b = p->b;
    if (b->n_pages > 8 || b->n_insns >= UB_MAX_INSN || b->n_exits > EM_MAX_EXITS || b->n_points > EM_MAX_POINTS ||
        b->host_len > EM_MAX_CODE || b->entry > UINT8_MAX || b->entry >= b->made_for.hot ||
        b->unmasked >= b->made_for.hot || b->made_for.hot > b->host_len ||
        (b->made_for.hot < b->host_len && !b->made_for.cold) || b->n_insns == 0)
        return false;
    uint32_t room = b->host_len < 4 ? 0 : b->host_len - 4;
    for (int i = 0; i < b->n_exits; i++) {
        const struct kept_exit *x = &p->exits[i];
        if (x->patch > room || x->id > room || x->desc > b->n_descs) return false;
    }
    for (int way = 0; way < KEEP_MOVED; way++)
        for (int i = 0; i < b->n_moved[way]; i++)
            if (p->moved[way][i] > room) return false;
    uint64_t guest = 0;
    for (int i = 0; i < b->n_reads; i++) guest += p->reads[i].n;
    return guest == b->n_guest && are_packed(p);
}

static bool find_parts(const uint8_t *at, size_t left, struct parts *p) {
    if (left < sizeof *p->b) return false;
    p->b = (const void *)at;
    const struct kept_block *b = p->b;
    if (b->bytes > left || b->bytes % 8 || b->bytes < sizeof *b) return false;
    const uint8_t *end = at + b->bytes;
    at += sizeof *b;
    bool whole = part(&at, end, &p->exits, sizeof *p->exits, b->n_exits) &&
                 part(&at, end, &p->descs, sizeof *p->descs, b->n_descs) &&
                 part(&at, end, &p->reads, sizeof *p->reads, b->n_reads) && part(&at, end, &p->pages, 4, b->n_pages) &&
                 part(&at, end, &p->unbound, 4, b->n_unbound);
    for (int way = 0; way < KEEP_MOVED; way++) whole = whole && part(&at, end, &p->moved[way], 2, b->n_moved[way]);
    return whole && part(&at, end, &p->points, 1, b->points_bytes) && part(&at, end, &p->pcs, 1, b->pcs_bytes) &&
           part(&at, end, &p->guest, 1, b->n_guest) && part(&at, end, &p->host, 1, b->host_len) && is_whole(p);
}

/* Is all code that it was made from mapped, unchangeable, and byte for byte the same? */
static bool same_code(struct transtab *t, struct segment *s, const struct parts *p) {
    const uint8_t *guest = p->guest;
    for (int i = 0; i < p->b->n_reads; i++) {
        uint64_t pc = p->reads[i].pc, n = p->reads[i].n;
        if (pc < s->lo || pc + n > s->hi) return false;
        for (uint64_t page = pc & ~4095ull; page < pc + n; page += 4096)
            if (!tt_is_stable(t, page) || tt_is_checked(t, page)) return false;
        if (!tt_same_bytes(t, pc, (uint32_t)n, guest)) {
            s->stale = true;
            return false;
        }
        guest += n;
    }
    for (int i = 0; i < p->b->n_pages; i++)
        if (!tt_is_stable(t, p->pages[i]) || p->pages[i] < s->lo || p->pages[i] >= s->hi) return false;
    return true;
}

static bool same_bindings(const struct transtab *t, const struct parts *p) {
    if (tt_binding(t, p->b->pc) || tt_is_break(t, p->b->pc)) return false;
    for (int i = 0; i < p->b->n_unbound; i++)
        if (tt_binding(t, p->unbound[i]) || (t->n_breaks && tt_is_break(t, p->unbound[i]))) return false;
    return true;
}

/* Another program may have the same library, and lead elsewhere from there. */
static bool same_slot(struct transtab *t, const struct kept_block *b) {
    uint64_t holds;
    return !b->slot || (tt_code_bytes(t, b->slot, sizeof holds, (uint8_t *)&holds) && holds == b->guess);
}

static void put_exits(struct transtab *t, const struct parts *p, const struct code_place *at) {
    struct ip_meta *m = t->meta;
    for (int i = 0; i < p->b->n_exits; i++) {
        const struct kept_exit *x = &p->exits[i];
        uint32_t id = m->n_exits + (uint32_t)i;
        struct ip_exit *out = &t->exits[id];
        out->key = x->pc | (uint64_t)x->upper << 48;
        out->kind_aux = x->kind_aux;
        if (x->desc && (x->kind_aux & 0xff) == IP_XS_TRACK)
            out->kind_aux |= tt_shape(t, &p->descs[x->desc - 1]) << 8;
        else if (x->desc)
            out->key = ip_described(tt_describe(t, &p->descs[x->desc - 1]));
        out->patch = x->patch ? place_at(at, x->patch) : 0;
        tt_new_exit(t, id);
        if (x->id) memcpy(tt_code(t, place_at(at, x->id)), &id, 4);
    }
    m->n_exits += p->b->n_exits;
}

static void put_block(struct transtab *t, const struct parts *p, uint64_t key) {
    const struct kept_block *b = p->b;
    struct ip_meta *m = t->meta;
    uint32_t block = m->n_blocks;
    struct code_place at = tt_next_place(t);
    at.hot = b->made_for.hot;
    uint8_t *code = t->em->code; /* of no block now */
    memcpy(code, p->host, b->host_len);
    for (int way = 0; way < KEEP_MOVED; way++)
        keep_move_all(code, p->moved[way], b->n_moved[way], keep_ways[way], &b->made_for, &at);
    tt_put_code(t, &at, code, b->host_len);
    struct brec *r = &t->brec[block];
    *r = (struct brec){.unmasked = (uint16_t)b->unmasked, .mask = b->mask, .first_exit = m->n_exits};
    put_exits(t, p, &at);
    t->blocks[block] = (struct ip_block){.key = key,
                                         .host = at.host,
                                         .host_len = (uint16_t)at.hot,
                                         .cold = at.cold,
                                         .cold_len = (uint16_t)(b->host_len - at.hot),
                                         .entry = (uint8_t)b->entry,
                                         .live = 1};
    tt_take_tables(t, &t->blocks[block], p->points, b->points_bytes, p->pcs, b->pcs_bytes);
    t->blocks[block].n_points = b->n_points;
    t->blocks[block].n_insns = b->n_insns & 127;
    __atomic_store_n(&m->n_blocks, block + 1, __ATOMIC_RELEASE);
    t->keep->note[block] = 0;
    t->n_live++;
    for (int i = 0; i < b->n_pages; i++) tt_page_add_block(t, p->pages[i], block);
    tt_publish(t, key, block);
}

uint32_t keep_install(struct transtab *t, struct segment *s, const uint8_t *at, size_t left) {
    struct parts p;
    if (!find_parts(at, left, &p)) return 0;
    const struct kept_block *b = p.b;
    uint64_t key = b->pc | (b->track ? IP_KEY_TRACK : 0);
    if (!tt_find(t, key) && tt_room(t) && b->keeps_stack == tt_in_ranges(&t->keeps_stack, b->pc) &&
        same_bindings(t, &p) && same_slot(t, b) && same_code(t, s, &p))
        put_block(t, &p, key);
    return b->bytes;
}
