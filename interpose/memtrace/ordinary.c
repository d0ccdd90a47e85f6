/* The checker's common case (ordinary.h): an instruction where the one before leads, then its accesses. */
#include <stdbool.h>

#include "formats/drmemtrace/entry.h"
#include "memtrace/ordinary.h"

static bool has_accesses(const struct ip_mt_ordinary *o) {
    if (!o->counts_data) return true;
    return o->reads >= o->last.reads[0] && o->reads <= o->last.reads[1] && o->writes >= o->last.writes[0] &&
           o->writes <= o->last.writes[1];
}

/* Where execution goes on behind r; false: that is not clear. */
static bool leads_to(const struct ip_mt_record *r, const struct ip_mt_effects *e, uint64_t *next) {
    switch (r->type) {
    case IP_MT_INSTR:
    case IP_MT_INSTR_UNTAKEN_JUMP:
    case IP_MT_INSTR_NO_FETCH: *next = r->pc + r->size; return true;
    case IP_MT_INSTR_DIRECT_JUMP:
    case IP_MT_INSTR_DIRECT_CALL:
    case IP_MT_INSTR_TAKEN_JUMP: *next = e->target; return e->flags & IP_MTO_TARGET;
    case IP_MT_INSTR_INDIRECT_JUMP:
    case IP_MT_INSTR_INDIRECT_CALL:
    case IP_MT_INSTR_RETURN: *next = r->addr; return r->addr != 0;
    default: return false;
    }
}

/* Is it right here?  Then it is the last one from now on. */
static bool instruction(struct ip_mt_ordinary *o, const struct ip_mt_record *r) {
    bool fetched = r->type != IP_MT_INSTR_NO_FETCH;
    uint64_t next;
    if (o->wants_syscall || !o->n_expected || r->code >= o->n_effects || !has_accesses(o)) return false;
    const struct ip_mt_effects *e = &o->effects[r->code];
    if (!(e->flags & IP_MTO_KNOWN) || !leads_to(r, e, &next)) return false;
    if (fetched) {
        if (r->pc != o->expected[0] && (o->n_expected < 2 || r->pc != o->expected[1])) return false;
        if (o->limit && o->in_chunk == o->limit) return false;
        o->instructions++;
        o->in_chunk++;
    } else if (r->pc != o->last_pc || r->size != o->last_size || !(o->last.flags & IP_MTO_REPEATS)) {
        return false;
    }
    o->last = *e;
    o->last_pc = r->pc;
    o->last_size = r->size;
    o->reads = o->writes = 0;
    o->counts_data = o->has_data;
    o->wants_syscall = fetched && o->has_syscalls && (e->flags & IP_MTO_SYSCALL);
    o->function = 0;
    o->expected[0] = next;
    o->n_expected = 1;
    return true;
}

uint64_t ip_mt_ordinary(struct ip_mt_ordinary *o, const struct ip_mt_record *records, uint64_t n) {
    o->last_at = 0;
    for (uint64_t i = 0; i < n; i++) {
        const struct ip_mt_record *r = &records[i];
        if (r->type == IP_MT_READ || r->type == IP_MT_WRITE) {
            if (o->function) return i;
            o->reads += r->type == IP_MT_READ;
            o->writes += r->type == IP_MT_WRITE;
        } else if (r->type == IP_MT_INSTR_NO_FETCH || (r->type < 64 && IP_MT_FETCHED >> r->type & 1)) {
            if (!instruction(o, r)) return i;
            o->last_at = i + 1;
        } else if (r->type == IP_MT_MARKER || r->type == IP_MT_THREAD_EXIT || o->function) {
            return i;
        }
    }
    return n;
}
