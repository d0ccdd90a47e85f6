/* From the entries of a trace to the records that tools get (reader.h). */
#include <stdlib.h>
#include <string.h>

#include "formats/drmemtrace/entry.h"
#include "formats/drmemtrace/reader.h"

#define FIRST_SLOTS 4096

#define BIT(n) (1ull << (n))
/* What is delivered as it stands, besides instructions and markers: bits by type. */
#define DATA                                                                                                           \
    ((BIT(IP_MT_PREFETCH_INSTR + 1) - 1) | BIT(IP_MT_INSTR_FLUSH) | BIT(IP_MT_INSTR_FLUSH_END) |                       \
     BIT(IP_MT_DATA_FLUSH) | BIT(IP_MT_DATA_FLUSH_END) | BIT(IP_MT_HARDWARE_PREFETCH) |                                \
     (BIT(IP_MT_PREFETCH_WRITE_L3_NT + 1) - BIT(IP_MT_PREFETCH_READ_L1_NT)))

enum { START, HEADER, BODY, ENDED };
enum { COPY_ORDINAL = 1, COPY_TIMESTAMP = 2, COPY_CPU = 4 };

int ip_mt_reader_open(struct ip_mt_reader *r, uint64_t most_codes, uint64_t seed) {
    memset(r, 0, sizeof *r);
    r->most_codes = most_codes < IP_MT_NO_CODE - 1 ? most_codes : IP_MT_NO_CODE - 1;
    r->seed = seed | 1;
    r->mask = FIRST_SLOTS - 1;
    r->room = FIRST_SLOTS / 2;
    r->by_pc = calloc(FIRST_SLOTS, sizeof *r->by_pc);
    r->by_bytes = calloc(FIRST_SLOTS, sizeof *r->by_bytes);
    r->codes = calloc(r->room, sizeof *r->codes);
    r->links = calloc(r->room, sizeof *r->links);
    if (r->by_pc != NULL && r->by_bytes != NULL && r->codes != NULL && r->links != NULL) return 0;
    ip_mt_reader_close(r);
    return -1;
}

void ip_mt_reader_close(struct ip_mt_reader *r) {
    free(r->by_pc);
    free(r->by_bytes);
    free(r->codes);
    free(r->links);
    r->by_pc = r->by_bytes = NULL;
    r->codes = NULL;
    r->links = NULL;
    r->n_codes = r->room = 0;
    r->state = ENDED;
}

void ip_mt_reader_begin(struct ip_mt_reader *r, const struct ip_mt_reader *header) {
    r->version = header->version;
    r->filetype = header->filetype;
    r->tid = header->tid;
    r->pid = header->pid;
    r->cache_line = header->cache_line;
    r->page = header->page;
    r->chunk_instrs = header->chunk_instrs;
    r->state = BODY;
    r->in_middle = 1;
    r->copies = COPY_ORDINAL;
}

/* ---- encodings ---- */

/* The seed is the process's own, so a file cannot be made whose addresses all meet in one slot. */
static uint64_t mix(const struct ip_mt_reader *r, uint64_t x) {
    x = (x ^ r->seed) * 0x9e3779b97f4a7c15;
    x ^= x >> 32;
    x *= r->seed;
    return x ^ x >> 29;
}

static uint64_t mix_code(const struct ip_mt_reader *r, uint64_t pc, const uint8_t *bytes) {
    uint64_t low, high;
    memcpy(&low, bytes, 8);
    memcpy(&high, bytes + 7, 8);
    return mix(r, mix(r, mix(r, pc) ^ low) ^ high);
}

static uint64_t slot_of_pc(const struct ip_mt_reader *r, uint64_t pc) {
    uint64_t at = mix(r, pc) & r->mask;
    while (r->by_pc[at] != 0 && r->codes[r->by_pc[at] - 1].pc != pc) at = (at + 1) & r->mask;
    return at;
}

static uint64_t slot_of_code(const struct ip_mt_reader *r, const struct ip_mt_code *code) {
    uint64_t at = mix_code(r, code->pc, code->bytes) & r->mask;
    while (r->by_bytes[at] != 0 && memcmp(&r->codes[r->by_bytes[at] - 1], code, sizeof *code) != 0)
        at = (at + 1) & r->mask;
    return at;
}

static int grow(struct ip_mt_reader *r) {
    uint64_t slots = 2 * (r->mask + 1);
    struct ip_mt_code *codes = realloc(r->codes, slots / 2 * sizeof *codes);
    if (codes == NULL) return -1;
    r->codes = codes;
    struct ip_mt_link *links = realloc(r->links, slots / 2 * sizeof *links);
    if (links == NULL) return -1;
    r->links = links;
    uint32_t *by_bytes = calloc(slots, sizeof *by_bytes);
    uint32_t *by_pc = calloc(slots, sizeof *by_pc);
    if (by_bytes == NULL || by_pc == NULL) {
        free(by_bytes);
        free(by_pc);
        return -1;
    }
    uint32_t *old_by_pc = r->by_pc;
    uint64_t old_slots = r->mask + 1;
    free(r->by_bytes);
    r->by_bytes = by_bytes;
    r->by_pc = by_pc;
    r->mask = slots - 1;
    r->room = slots / 2;
    for (uint64_t n = 0; n < r->n_codes; n++) r->by_bytes[slot_of_code(r, &r->codes[n])] = (uint32_t)n + 1;
    for (uint64_t n = 0; n < old_slots; n++)
        if (old_by_pc[n] != 0) r->by_pc[slot_of_pc(r, r->codes[old_by_pc[n] - 1].pc)] = old_by_pc[n];
    free(old_by_pc);
    return 0;
}

static uint32_t fail(struct ip_mt_reader *r, uint32_t fault, uint64_t value) {
    r->fault = fault;
    r->value = value;
    return fault;
}

/* The encoding that has been collected is that of pc from now on. */
static uint32_t learn(struct ip_mt_reader *r, uint64_t pc, uint32_t *code, uint32_t *is_new) {
    struct ip_mt_code seen;
    memset(&seen, 0, sizeof seen);
    seen.pc = pc;
    seen.length = (uint8_t)r->encoding_length;
    memcpy(seen.bytes, r->encoding, r->encoding_length);
    uint64_t by_pc = slot_of_pc(r, pc);
    uint32_t known = r->by_pc[by_pc];
    if (known != 0 && memcmp(&r->codes[known - 1], &seen, sizeof seen) == 0) {
        *code = known - 1;
        *is_new = 0;
        return 0;
    }
    uint64_t by_bytes = slot_of_code(r, &seen);
    if (r->by_bytes[by_bytes] == 0) {
        if (r->n_codes >= r->most_codes) return fail(r, IP_MTE_MANY_CODES, r->n_codes);
        if (r->n_codes == r->room) {
            if (grow(r) != 0) return fail(r, IP_MTE_NOMEM, 0);
            by_pc = slot_of_pc(r, pc);
            by_bytes = slot_of_code(r, &seen);
        }
        r->codes[r->n_codes] = seen;
        r->links[r->n_codes] = (struct ip_mt_link){0, 0};
        r->by_bytes[by_bytes] = (uint32_t)++r->n_codes;
    }
    *code = (r->by_pc[by_pc] = r->by_bytes[by_bytes]) - 1;
    *is_new = 1;
    if (known != 0) r->links[known - 1].is_last = 0;
    r->links[*code].is_last = 1;
    return 0;
}

/* What a place had last, index + 1, 0: nothing.  Most often that is what came last after the instruction before; one
 * step along these links spares two places in memory that no cache holds. */
static uint32_t last_of(struct ip_mt_reader *r, uint64_t pc) {
    if (r->n_codes != 0) {
        uint32_t guess = r->links[r->newest].after;
        if (r->codes[guess].pc == pc && r->links[guess].is_last) return guess + 1;
    }
    return r->by_pc[slot_of_pc(r, pc)];
}

/* ---- records ---- */

static struct ip_mt_record *deliver(struct ip_mt_reader *r, struct ip_mt_record *out, uint32_t type, uint32_t size,
                                    uint64_t addr) {
    out->pc = r->pc;
    out->addr = addr;
    out->code = IP_MT_NO_CODE;
    out->tid = r->tid;
    out->type = (uint16_t)type;
    out->size = (uint16_t)size;
    out->is_new = 0;
    r->records++;
    return out + 1;
}

static struct ip_mt_record *instruction(struct ip_mt_reader *r, struct ip_mt_record *out, uint32_t type, uint32_t size,
                                        uint64_t pc) {
    uint32_t code = IP_MT_NO_CODE, is_new = 0;
    if (size == 0) { /* of a filtered trace: only the place of what follows */
        r->pc = pc;
        r->encoding_length = r->has_target = 0;
        return out;
    }
    if (size > IP_MT_MAX_LENGTH) return fail(r, IP_MTE_INSTR_SIZE, size), out;
    if (r->encoding_length != 0) {
        if (r->encoding_length != size) return fail(r, IP_MTE_LENGTH, r->encoding_length), out;
        if (learn(r, pc, &code, &is_new) != 0) return out;
        r->encoding_length = 0;
    } else if (r->filetype & IP_MTF_ENCODINGS) {
        uint32_t known = last_of(r, pc);
        if (known != 0) {
            code = known - 1;
            if (r->codes[code].length != size) return fail(r, IP_MTE_LENGTH, r->codes[code].length), out;
        } else if (type != IP_MT_INSTR_NO_FETCH)
            return fail(r, IP_MTE_NO_ENCODING, pc), out;
    }
    if (code != IP_MT_NO_CODE) {
        r->links[r->newest].after = code;
        r->newest = code;
    }
    r->pc = pc;
    out = deliver(r, out, type, size, r->has_target ? r->target : 0);
    out[-1].code = code;
    out[-1].is_new = is_new;
    r->has_target = 0;
    if (type != IP_MT_INSTR_NO_FETCH) r->instrs++;
    return out;
}

/* What a marker says of the whole trace. */
static void remember(struct ip_mt_reader *r, uint32_t id, uint64_t value) {
    switch (id) {
    case IP_MTM_FILETYPE: r->filetype = (uint32_t)value; break;
    case IP_MTM_CACHE_LINE_SIZE: r->cache_line = value; break;
    case IP_MTM_PAGE_SIZE: r->page = value; break;
    case IP_MTM_CHUNK_INSTR_COUNT: r->chunk_instrs = value; break;
    case IP_MTM_TIMESTAMP:
        r->last_timestamp = value;
        if (r->first_timestamp == 0) r->first_timestamp = value;
        break;
    case IP_MTM_CPU_ID: r->last_cpu = value; break;
    default: break;
    }
}

static int is_version(uint64_t version) { return version >= IP_MT_OLDEST && version <= IP_MT_VERSION; }

static struct ip_mt_record *marker(struct ip_mt_reader *r, struct ip_mt_record *out, uint32_t id, uint64_t value) {
    uint32_t copies = r->copies;
    r->copies = 0;
    switch (id) {
    case IP_MTM_RECORD_ORDINAL:
        if (r->in_middle == 1) {
            r->records = value;
            r->in_middle = 2;
        } else if (r->strict && value != r->records)
            return fail(r, IP_MTE_ORDINAL, value), out;
        r->copies = COPY_TIMESTAMP | COPY_CPU;
        return out;
    case IP_MTM_BRANCH_TARGET:
        r->target = value;
        r->has_target = 1;
        return out;
    case IP_MTM_SPLIT_VALUE:
    case IP_MTM_MIDBLOCK_END_PC:
    case IP_MTM_KERNEL_EVENT_RAW: return fail(r, IP_MTE_RAW, id), out;
    case IP_MTM_VERSION:
        if (!is_version(value)) return fail(r, IP_MTE_VERSION, value), out;
        r->version = (uint32_t)value;
        break;
    case IP_MTM_CHUNK_FOOTER:
        r->chunk++;
        r->copies = COPY_ORDINAL;
        break;
    default: break;
    }
    remember(r, id, value);
    if (id == IP_MTM_TIMESTAMP && copies & COPY_TIMESTAMP) {
        r->copies = COPY_CPU;
        r->copied_timestamp = value;
        return out;
    }
    if (id == IP_MTM_CPU_ID && copies & COPY_CPU) {
        r->copied_cpu = value;
        return out;
    }
    return deliver(r, out, IP_MT_MARKER, id, value);
}

/* Before PID: markers wait, because tools get them with the thread. */
static struct ip_mt_record *in_header(struct ip_mt_reader *r, struct ip_mt_record *out, uint32_t type, uint32_t size,
                                      uint64_t addr) {
    if (r->state == START) {
        if (type != IP_MT_HEADER) return fail(r, IP_MTE_NO_HEADER, type), out;
        if (!is_version(addr)) return fail(r, IP_MTE_VERSION, addr), out;
        r->version = (uint32_t)addr;
        r->state = HEADER;
        return out;
    }
    switch (type) {
    case IP_MT_HEADER: return fail(r, IP_MTE_TWO_HEADERS, 0), out;
    case IP_MT_THREAD: r->tid = (uint32_t)addr; return out;
    case IP_MT_MARKER:
        if (r->n_early == IP_MT_EARLY) return fail(r, IP_MTE_MANY_EARLY, 0), out;
        if (marker(r, &r->early[r->n_early], size, addr) != &r->early[r->n_early]) r->n_early++;
        return out;
    case IP_MT_PID:
        r->pid = (uint32_t)addr;
        if (r->tid == 0 || r->pid == 0) return fail(r, IP_MTE_NO_THREAD, 0), out;
        r->state = BODY;
        for (uint32_t n = 0; n < r->n_early; n++) {
            *out = r->early[n];
            out++->tid = r->tid;
        }
        r->n_early = 0;
        return out;
    default: return fail(r, IP_MTE_IN_HEADER, type), out;
    }
}

/* A piece of an encoding. */
static void collect(struct ip_mt_reader *r, uint32_t size, const uint8_t *bytes) {
    if (size == 0 || size > IP_MT_ENCODE_BYTES || r->encoding_length + size > IP_MT_MAX_LENGTH) {
        fail(r, IP_MTE_ENCODING_SIZE, r->encoding_length + size);
        return;
    }
    memcpy(r->encoding + r->encoding_length, bytes, size);
    r->encoding_length += size;
}

static struct ip_mt_record *other(struct ip_mt_reader *r, struct ip_mt_record *out, uint32_t type, uint32_t size,
                                  uint64_t addr) {
    switch (type) {
    case IP_MT_THREAD_EXIT: r->tid = (uint32_t)addr; return deliver(r, out, type, size, addr);
    case IP_MT_THREAD: r->tid = (uint32_t)addr; return out;
    case IP_MT_PID: r->pid = (uint32_t)addr; return out;
    case IP_MT_HEADER: return fail(r, IP_MTE_TWO_HEADERS, 0), out;
    case IP_MT_FOOTER: r->state = ENDED; return out;
    case IP_MT_INSTR_BUNDLE: /* only between a live program and its simulator */
    case IP_MT_INSTR_MAYBE_FETCH: return fail(r, IP_MTE_RAW, type), out;
    default: return fail(r, IP_MTE_TYPE, type), out;
    }
}

uint64_t ip_mt_read(struct ip_mt_reader *r, const uint8_t *entries, uint64_t n, struct ip_mt_record *out) {
    struct ip_mt_record *first = out;
    for (const uint8_t *at = entries, *end = at + n * IP_MT_ENTRY; at != end; at += IP_MT_ENTRY) {
        uint32_t head;
        uint64_t addr;
        memcpy(&head, at, 4);
        memcpy(&addr, at + 4, 8);
        uint32_t type = head & 0xffff, size = head >> 16;
        uint64_t bit = type < 64 ? BIT(type) : 0;
        if (r->state == BODY) {
            if (r->in_middle == 1 && r->strict && !(type == IP_MT_MARKER && size == IP_MTM_RECORD_ORDINAL)) {
                fail(r, IP_MTE_NO_ORDINAL, type);
                break;
            }
            if (r->encoding_length != 0 && !(bit & (IP_MT_FETCHED | BIT(IP_MT_ENCODING) | BIT(IP_MT_INSTR_NO_FETCH))) &&
                !(type == IP_MT_MARKER && size == IP_MTM_BRANCH_TARGET)) {
                fail(r, IP_MTE_ENCODING_LOST, type);
                break;
            }
            if (bit & DATA) {
                r->copies = 0;
                out = deliver(r, out, type, size, addr);
            } else if (bit & (IP_MT_FETCHED | BIT(IP_MT_INSTR_NO_FETCH))) {
                r->copies = 0;
                out = instruction(r, out, type, size, addr);
            } else if (type == IP_MT_ENCODING)
                collect(r, size, at + 4);
            else if (type == IP_MT_MARKER) {
                out = marker(r, out, size, addr);
                r->last_marker = size;
            } else
                out = other(r, out, type, size, addr);
        } else if (r->state == ENDED)
            fail(r, IP_MTE_AFTER_FOOTER, type);
        else
            out = in_header(r, out, type, size, addr);
        if (r->fault != IP_MTE_NONE) break;
        r->last_type = type;
        r->entries++;
    }
    return (uint64_t)(out - first);
}

uint32_t ip_mt_reader_end(struct ip_mt_reader *r, int is_file) {
    if (r->fault != IP_MTE_NONE || r->state == ENDED) return r->fault;
    if (!is_file && r->last_type == IP_MT_MARKER && r->last_marker == IP_MTM_CHUNK_FOOTER) return 0;
    return fail(r, IP_MTE_NO_FOOTER, 0);
}
