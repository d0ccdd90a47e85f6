/* The entries of one thread's trace (writer.h). */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "formats/drmemtrace/inline/put.h"
#include "formats/drmemtrace/writer.h"

/* The most that one call writes: the beginning of a chunk (3), encodings (2), target, instruction. */
#define MOST        ((3 + 2 + 1 + 1) * IP_MT_ENTRY)
#define FIRST_CODES 4096
#define LEAST       4096

struct code { /* the encoding that the trace has for a pc */
    uint64_t pc;
    uint8_t bytes[16];
    uint32_t length; /* 0: the slot is free */
    uint32_t pad;
    uint64_t chunk; /* the last one that has the encoding */
};

static const uint8_t no_code[16];

static void put(struct ip_mt_writer *w, uint32_t type, uint32_t size, uint64_t addr) {
    ip_mt_put(w->out + w->used, type, size, addr);
    w->used += IP_MT_ENTRY;
}

static void put_marker(struct ip_mt_writer *w, uint32_t id, uint64_t value) { put(w, IP_MT_MARKER, id, value); }

int ip_mt_open(struct ip_mt_writer *w, uint32_t version, uint32_t filetype, uint64_t tid, uint64_t pid,
               uint64_t chunk_instrs, uint64_t capacity) {
    memset(w, 0, sizeof *w);
    w->capacity = capacity < LEAST ? LEAST : capacity;
    w->out = malloc(w->capacity);
    w->codes = calloc(FIRST_CODES, sizeof(struct code));
    if (w->out == NULL || w->codes == NULL) {
        ip_mt_close(w);
        return IP_MT_NOMEM;
    }
    w->codes_mask = FIRST_CODES - 1;
    w->version = version;
    w->filetype = filetype;
    w->tid = tid;
    w->pid = pid;
    w->chunk_instrs = chunk_instrs;
    put(w, IP_MT_HEADER, 0, version);
    put_marker(w, IP_MTM_VERSION, version);
    put_marker(w, IP_MTM_FILETYPE, filetype);
    put(w, IP_MT_THREAD, 4, tid);
    put(w, IP_MT_PID, 4, pid);
    put_marker(w, IP_MTM_CACHE_LINE_SIZE, 64);
    w->records = 3;
    if (chunk_instrs != 0) {
        put_marker(w, IP_MTM_CHUNK_INSTR_COUNT, chunk_instrs);
        w->records++;
    }
    put_marker(w, IP_MTM_PAGE_SIZE, 4096);
    w->records++;
    return IP_MT_OK;
}

void ip_mt_close(struct ip_mt_writer *w) {
    free(w->out);
    free(w->codes);
    w->out = NULL;
    w->codes = NULL;
    w->ended = 1;
}

void ip_mt_taken(struct ip_mt_writer *w) {
    w->used = 0;
    if (w->cut == 1) w->cut = 2;
}

/* ---- encodings ---- */

static uint64_t hash(uint64_t pc) {
    pc *= 0x9e3779b97f4a7c15;
    return pc ^ pc >> 29;
}

static struct code *find(struct code *codes, uint64_t mask, uint64_t pc) {
    uint64_t at = hash(pc) & mask;
    while (codes[at].length != 0 && codes[at].pc != pc) at = (at + 1) & mask;
    return &codes[at];
}

static int grow(struct ip_mt_writer *w) {
    struct code *old = w->codes;
    uint64_t slots = w->codes_mask + 1, mask = 2 * slots - 1;
    struct code *codes = calloc(2 * slots, sizeof *codes);
    if (codes == NULL) return IP_MT_NOMEM;
    for (uint64_t n = 0; n < slots; n++)
        if (old[n].length != 0) *find(codes, mask, old[n].pc) = old[n];
    free(old);
    w->codes = codes;
    w->codes_mask = mask;
    return IP_MT_OK;
}

/* The place for a pc's encoding; NULL: no memory. */
static struct code *place(struct ip_mt_writer *w, uint64_t pc) {
    if (2 * w->codes_used > w->codes_mask && grow(w) != IP_MT_OK) return NULL;
    return find(w->codes, w->codes_mask, pc);
}

static void put_encoding(struct ip_mt_writer *w, const uint8_t *code, uint32_t size) {
    uint64_t half;
    memcpy(&half, code, 8);
    put(w, IP_MT_ENCODING, size < 8 ? size : 8, half);
    if (size > 8) {
        memcpy(&half, code + 8, 8);
        put(w, IP_MT_ENCODING, size - 8, half);
    }
}

/* ---- records ---- */

/* Room for a call, and the chunk that it belongs to is open. */
static int ready(struct ip_mt_writer *w) {
    w->whole = 0;
    if (w->ended) return IP_MT_CLOSED;
    if (w->cut == 1) return IP_MT_CHUNK;
    return w->used + MOST > w->capacity ? IP_MT_FULL : IP_MT_OK;
}

/* What a chunk that follows another begins with: copies, which a reader from the start skips. */
static void begin_chunk(struct ip_mt_writer *w) {
    w->cut = 0;
    put_marker(w, IP_MTM_RECORD_ORDINAL, w->records);
    if (w->has_timestamp) put_marker(w, IP_MTM_TIMESTAMP, w->timestamp);
    if (w->has_cpu) put_marker(w, IP_MTM_CPU_ID, w->cpu);
}

/* The encoding, if the open chunk does not have it. */
static int learn(struct ip_mt_writer *w, uint64_t pc, uint32_t size, const uint8_t *code) {
    struct code *known = place(w, pc);
    if (known == NULL) return IP_MT_NOMEM;
    uint8_t bytes[16];
    memcpy(bytes, no_code, sizeof bytes);
    memcpy(bytes, code, size);
    if (w->cut == 2) begin_chunk(w);
    bool is_other = known->length != size || memcmp(known->bytes, bytes, sizeof bytes) != 0;
    if (!is_other && known->chunk == w->chunk) return IP_MT_OK;
    if (known->length == 0)
        w->codes_used++;
    else
        w->changes += is_other;
    known->pc = pc;
    known->length = size;
    known->chunk = w->chunk;
    memcpy(known->bytes, bytes, sizeof bytes);
    put_encoding(w, bytes, size);
    return IP_MT_OK;
}

/* known: 1 + a chunk that has the encoding. */
static int instruction(struct ip_mt_writer *w, uint32_t type, uint64_t pc, uint32_t size, const uint8_t *code,
                       uint64_t target, uint32_t known) {
    if (type >= 64 || !(IP_MT_FETCHED >> type & 1)) return IP_MT_BADTYPE;
    if (size == 0 || size > IP_MT_MAX_LENGTH) return IP_MT_BADSIZE;
    int result = ready(w);
    if (result == IP_MT_OK && w->used > w->capacity / 4 * 3) result = IP_MT_FULL;
    if (result != IP_MT_OK) {
        w->whole = result == IP_MT_FULL;
        return result;
    }
    if (w->chunk_instrs != 0 && w->instrs_in_chunk == w->chunk_instrs) {
        put_marker(w, IP_MTM_CHUNK_FOOTER, w->chunk++);
        w->records++;
        w->instrs_in_chunk = 0;
        w->cut = 1;
        return IP_MT_CHUNK;
    }
    if (code != NULL && known != w->chunk + 1) {
        result = learn(w, pc, size, code);
        if (result != IP_MT_OK) return result;
    }
    if (w->cut == 2) begin_chunk(w);
    if (w->version >= 5 && (IP_MT_INDIRECT >> type & 1)) put_marker(w, IP_MTM_BRANCH_TARGET, target);
    put(w, type, size, pc);
    w->instrs++;
    w->instrs_in_chunk++;
    w->records++;
    return IP_MT_OK;
}

int ip_mt_instr(struct ip_mt_writer *w, uint32_t type, uint64_t pc, uint32_t size, const uint8_t *code,
                uint64_t target) {
    return instruction(w, type, pc, size, code, target, 0);
}

int ip_mt_no_fetch(struct ip_mt_writer *w, uint64_t pc, uint32_t size) {
    if (size == 0 || size > IP_MT_MAX_LENGTH) return IP_MT_BADSIZE;
    int result = ready(w);
    if (result != IP_MT_OK) return result;
    if (w->cut == 2) begin_chunk(w);
    put(w, IP_MT_INSTR_NO_FETCH, size, pc);
    w->records++;
    return IP_MT_OK;
}

/* READ to PREFETCH_INSTR, flushes, and the prefetches that were numbered later. */
static int is_data(uint32_t type) {
    return type <= IP_MT_PREFETCH_INSTR || (type >= IP_MT_INSTR_FLUSH && type <= IP_MT_DATA_FLUSH_END) ||
           type == IP_MT_HARDWARE_PREFETCH || (type >= IP_MT_PREFETCH_READ_L1_NT && type <= IP_MT_PREFETCH_WRITE_L3_NT);
}

int ip_mt_data(struct ip_mt_writer *w, uint32_t type, uint32_t size, uint64_t addr) {
    if (!is_data(type)) return IP_MT_BADTYPE;
    if (size > 0xffff) return IP_MT_BADSIZE;
    int result = ready(w);
    if (result != IP_MT_OK) return result;
    if (w->cut == 2) begin_chunk(w);
    put(w, type, size, addr);
    w->records++;
    return IP_MT_OK;
}

int ip_mt_marker(struct ip_mt_writer *w, uint32_t id, uint64_t value) {
    switch (id) { /* the writer's own */
    case IP_MTM_VERSION:
    case IP_MTM_FILETYPE:
    case IP_MTM_CACHE_LINE_SIZE:
    case IP_MTM_PAGE_SIZE:
    case IP_MTM_CHUNK_INSTR_COUNT:
    case IP_MTM_CHUNK_FOOTER:
    case IP_MTM_RECORD_ORDINAL:
    case IP_MTM_BRANCH_TARGET: return IP_MT_BADTYPE;
    default: break;
    }
    if (id >= IP_MTM_RESERVED_END) return IP_MT_BADTYPE;
    int result = ready(w);
    if (result != IP_MT_OK) return result;
    if (w->cut == 2) begin_chunk(w);
    if (id == IP_MTM_TIMESTAMP) {
        w->timestamp = value;
        w->has_timestamp = 1;
    } else if (id == IP_MTM_CPU_ID) {
        w->cpu = value;
        w->has_cpu = 1;
    }
    put_marker(w, id, value);
    w->records++;
    return IP_MT_OK;
}

int ip_mt_write(struct ip_mt_writer *w, const struct ip_mt_item *items, uint64_t n, uint64_t *done) {
    int result = IP_MT_OK;
    uint64_t at = 0;
    int coded = (w->filetype & IP_MTF_ENCODINGS) != 0;
    for (; at < n; at++) {
        const struct ip_mt_item *i = &items[at];
        if (i->type == IP_MT_MARKER)
            result = ip_mt_marker(w, i->size, i->addr);
        else if (i->type == IP_MT_INSTR_NO_FETCH)
            result = ip_mt_no_fetch(w, i->addr, i->size);
        else if (is_data(i->type))
            result = ip_mt_data(w, i->type, i->size, i->addr);
        else
            result = instruction(w, i->type, i->addr, i->size, coded ? i->code : NULL, i->target, i->known);
        if (result != IP_MT_OK) break;
    }
    *done = at;
    return result;
}

int ip_mt_end(struct ip_mt_writer *w) {
    int result = ready(w);
    if (result != IP_MT_OK) return result;
    if (w->cut == 2) begin_chunk(w);
    put(w, IP_MT_THREAD_EXIT, 4, w->tid);
    put(w, IP_MT_FOOTER, 0, 0);
    w->records++;
    w->ended = 1;
    return IP_MT_OK;
}
