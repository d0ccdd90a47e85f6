/* Raw file and templates to the records of one thread (finish.h).
 *
 * Records are laid out as items, and written in bulk.  An instruction whose record depends on what comes next (a branch
 * by its target, a system call by its markers) stays among the items, pending, until that has been seen. */
#include <asm/unistd.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "abi/space.h"
#include "abi/meta.h"
#include "abi/trace.h"
#include "abi/x86_insn.h"
#include "formats/drmemtrace/inline/put.h"
#include "tools/memtrace/finish/finish.h"
#include "tools/memtrace/memtrace_abi.h"
#include "trace/pack.h"

#define NO_WORD      0xffff
#define SINCE_1601   11644473600000000ull /* microseconds to 1970 */
#define SYSCALL_FUNC 0x100000000ull
/* What is laid out between two looks at the room: an instruction or an iteration, its accesses, markers before it. */
#define MOST_ITEMS    160
#define MOST_ACCESSES 64
#define MARKER_BYTES  19 /* of a client request, which the engine takes for one instruction */
#define MOST_RETURNS  16
#define MAX_FRAMES    (1u << 20)
#define FILE_TYPE     (IP_MTF_ARCH_X86_64 | IP_MTF_ENCODINGS | IP_MTF_SYSCALL_NUMBERS | IP_MTF_BLOCKING_SYSCALLS)
#define RETVAL_FAIL   0
#define RETVAL_GOOD   1

int64_t ip_mtf_scan(const void *raw, uint64_t raw_bytes, struct ip_mtf_part *parts, uint64_t n) {
    const struct ip_mtr_head *head = raw;
    if (raw_bytes < sizeof *head || head->magic != IP_MTR_MAGIC) return -1;
    if (head->layout != PK_LAYOUT) return -2;
    int64_t found = 0;
    for (uint64_t at = sizeof *head; raw_bytes - at >= sizeof(struct ip_mtr_frame);) {
        struct ip_mtr_frame frame;
        memcpy(&frame, (const uint8_t *)raw + at, sizeof frame);
        at += sizeof frame;
        uint64_t bytes = frame.bytes < raw_bytes - at ? frame.bytes : raw_bytes - at;
        if (frame.tid == 0 && frame.bytes % 8) break; /* no frame */
        if ((uint64_t)found < n) parts[found] = (struct ip_mtf_part){at, bytes, frame.tid, frame.number};
        found++;
        at += bytes;
    }
    return found;
}

/* A reader of packed records; how many templates there are, and words of theirs, is theirs to say. */
static bool new_reader(struct ip_mtf *f) {
    struct pk_reader *r = f->reader = calloc(1, sizeof *r);
    if (r == NULL) return false;
    uint64_t at = 0;
    while (f->image_bytes - at >= sizeof(struct ip_tr_block)) {
        const struct ip_tr_block *b = (const struct ip_tr_block *)(f->image + at);
        if (b->bytes < sizeof *b || b->bytes % 8 || b->bytes > f->image_bytes - at) break;
        r->n_templates++;
        r->n_words += b->n_words;
        at += b->bytes;
    }
    r->template_bytes = (uint32_t)at;
    r->state.templates = f->image;
    r->state.words = calloc(r->n_words + 1, sizeof *r->state.words);
    r->state.next = calloc(PK_PATHS, sizeof *r->state.next);
    r->then = PK_NOTHING;
    return r->state.words && r->state.next;
}

int ip_mtf_open(struct ip_mtf *f, const void *templates, uint64_t templates_bytes, const void *raw,
                const struct ip_mtf_part *parts, uint64_t n_parts, uint64_t chunk_instrs, uint64_t capacity) {
    memset(f, 0, offsetof(struct ip_mtf, record));
    const struct ip_mtr_head *head = raw;
    if (n_parts == 0) return IP_MT_BADTYPE;
    f->image = templates;
    f->image_bytes = templates_bytes;
    f->image_address = head->templates;
    f->raw = raw;
    f->parts = parts;
    f->n_parts = n_parts;
    f->pending = -1;
    f->syscall = -1;
    f->take = ~0ull;
    if (!new_reader(f)) return IP_MT_NOMEM;
    f->seen = calloc(((struct pk_reader *)f->reader)->n_templates + 1, sizeof *f->seen);
    if (f->seen == NULL) return IP_MT_NOMEM;
    return ip_mt_open(&f->w, IP_MT_VERSION, FILE_TYPE, parts->tid, head->pid, chunk_instrs, capacity);
}

_Static_assert(sizeof(((struct ip_mtf *)0)->items) / sizeof(struct ip_mt_item) == IP_MTF_ITEMS, "one number");

void ip_mtf_close(struct ip_mtf *f) {
    ip_mt_close(&f->w);
    struct pk_reader *r = f->reader;
    if (r) {
        free(r->state.words);
        free(r->state.next);
    }
    free(r);
    f->reader = NULL;
    free(f->seen);
    free(f->times);
    free(f->calls);
    free(f->entered);
    f->seen = NULL;
    f->times = NULL;
    f->calls = f->entered = NULL;
}

/* ---- items ---- */

static struct ip_mt_item *item(struct ip_mtf *f, uint32_t type, uint32_t size, uint64_t addr) {
    struct ip_mt_item *i = &f->items[f->n_items++];
    i->type = (uint16_t)type;
    i->size = (uint16_t)size;
    i->addr = addr;
    return i;
}

static void marker(struct ip_mtf *f, uint32_t id, uint64_t value) { item(f, IP_MT_MARKER, id, value); }

static void time_is(struct ip_mtf *f, uint64_t us, uint64_t cpu) {
    uint64_t timestamp = us + SINCE_1601;
    if (timestamp < f->last_time) timestamp = f->last_time; /* somebody has set the clock back */
    f->last_time = timestamp;
    f->has_held = 0;
    marker(f, IP_MTM_TIMESTAMP, timestamp);
    marker(f, IP_MTM_CPU_ID, cpu);
    if (f->n_times && f->times[f->n_times - 1].instruction == f->instrs && f->times[f->n_times - 1].cpu == cpu) return;
    if (f->n_times == f->room_times) {
        uint64_t room = f->room_times ? 2 * f->room_times : 64;
        struct ip_mtf_time *more = realloc(f->times, room * sizeof *more);
        if (more == NULL) return; /* a schedule with less detail */
        f->times = more;
        f->room_times = room;
    }
    f->times[f->n_times++] = (struct ip_mtf_time){timestamp, cpu, f->instrs};
}

static void held_time(struct ip_mtf *f) {
    if (f->has_held) time_is(f, f->held_time, f->held_cpu);
}

/* What can be written is; IP_MT_OK when there is room again. */
static int flush(struct ip_mtf *f) {
    uint32_t end = f->pending >= 0 ? (uint32_t)f->pending : f->n_items;
    while (f->written < end) {
        uint64_t done;
        int r = ip_mt_write(&f->w, f->items + f->written, end - f->written, &done);
        f->written += (uint32_t)done;
        f->whole = f->written < end && f->items[f->written].type < 64 &&
                   (IP_MT_FETCHED >> f->items[f->written].type & 1);
        if (r != IP_MT_OK) return r;
    }
    f->n_items -= f->written;
    memmove(f->items, f->items + f->written, f->n_items * sizeof f->items[0]);
    if (f->pending >= 0) f->pending -= (int32_t)f->written;
    f->written = 0;
    return IP_MT_OK;
}

/* ---- calls, for the markers of functions ---- */

static void push(struct ip_mtf_frame **frames, uint64_t *n, uint64_t *room, uint64_t sp, uint64_t value) {
    if (*n == *room) {
        uint64_t more = *room ? 2 * *room : 256;
        struct ip_mtf_frame *grown = more <= MAX_FRAMES ? realloc(*frames, more * sizeof *grown) : NULL;
        if (grown == NULL) return;
        *frames = grown;
        *room = more;
    }
    (*frames)[(*n)++] = (struct ip_mtf_frame){sp, value};
}

/* A return with the return address at sp has happened: frames below it are gone, and those at it return. */
static void returns(struct ip_mtf *f, uint64_t sp, bool known, uint64_t result) {
    while (f->n_calls && f->calls[f->n_calls - 1].sp <= sp) f->n_calls--;
    for (uint32_t told = 0; f->n_entered && f->entered[f->n_entered - 1].sp <= sp;) {
        struct ip_mtf_frame *e = &f->entered[--f->n_entered];
        if (e->sp != sp || !known) continue; /* left by longjmp or an exception */
        if (++told > MOST_RETURNS) continue; /* a function that calls itself at its end */
        marker(f, IP_MTM_FUNC_ID, f->functions[e->value].id);
        marker(f, IP_MTM_FUNC_RETVAL, result);
    }
}

/* A call has pushed its return address at sp, over whatever frames were there. */
static void calls(struct ip_mtf *f, uint64_t sp, uint64_t next) {
    while (f->n_calls && f->calls[f->n_calls - 1].sp <= sp) f->n_calls--;
    while (f->n_entered && f->entered[f->n_entered - 1].sp <= sp) f->n_entered--;
    push(&f->calls, &f->n_calls, &f->room_calls, sp, next);
}

static void enters(struct ip_mtf *f, uint32_t number, const uint64_t *words, uint32_t args_word) {
    const struct ip_mtf_function *fn = &f->functions[number];
    struct ip_mtf_frame none = {0}, *call = f->n_calls ? &f->calls[f->n_calls - 1] : &none;
    marker(f, IP_MTM_FUNC_ID, fn->id);
    marker(f, IP_MTM_FUNC_RETADDR, call->value);
    for (uint32_t n = 0; n < fn->n_args && n < 6 && args_word != NO_WORD; n++)
        marker(f, IP_MTM_FUNC_ARG, words[args_word + n]);
    if (!fn->noret && f->n_calls) push(&f->entered, &f->n_entered, &f->room_entered, call->sp, number);
}

/* ---- what was pending ---- */

/* The thread goes on at pc. */
static void resolve(struct ip_mtf *f, uint64_t pc) {
    struct ip_mt_item *i = &f->items[f->pending];
    switch (f->pending_kind) {
    case IP_TR_COND_JUMP: i->type = pc == f->pending_target ? IP_MT_INSTR_TAKEN_JUMP : IP_MT_INSTR_UNTAKEN_JUMP; break;
    case IP_TR_INDIRECT_CALL:
    case IP_TR_INDIRECT_JUMP:
    case IP_TR_RETURN: i->target = pc; break;
    default: break;
    }
    f->pending = -1;
    if (f->traced_ids && f->pending_has_sp) {
        if (f->pending_kind == IP_TR_RETURN)
            returns(f, f->pending_sp, f->pending_has_result, f->pending_result);
        else if (f->pending_kind == IP_TR_INDIRECT_CALL)
            calls(f, f->pending_sp - 8, f->pending_next);
    }
}

/* Nobody knows where it went on: it is as if it had not been. */
static void drop_pending(struct ip_mtf *f) {
    if (f->pending < 0) return;
    f->n_items = (uint32_t)f->pending;
    f->pending = -1;
    f->instrs--;
    f->w.changes++; /* its template says that the trace has it */
}

/* ---- templates ---- */

static const struct ip_tr_insn *insns_of(const struct ip_tr_block *b) { return (const struct ip_tr_insn *)(b + 1); }

static const struct ip_tr_access *accesses_of(const struct ip_tr_block *b) {
    return (const struct ip_tr_access *)(insns_of(b) + b->n_insns);
}

static bool is_word(const struct ip_tr_block *b, uint32_t word, uint32_t n) {
    return word == NO_WORD || word + n <= b->n_words;
}

static bool is_sound(const struct ip_tr_block *b, uint64_t room) {
    uint64_t bytes = sizeof *b + b->n_insns * sizeof(struct ip_tr_insn) + b->n_accesses * sizeof(struct ip_tr_access);
    if (bytes > room || b->n_insns == 0) return false;
    const struct ip_tr_insn *insn = insns_of(b);
    for (uint32_t i = 0; i < b->n_insns; i++, insn++) {
        if (insn->len == 0 || (insn->len > IP_MT_MAX_LENGTH && insn->len != MARKER_BYTES)) return false;
        if (insn->kind > IP_TR_SYSCALL_INSN) return false;
        if (insn->first_access + insn->n_accesses > b->n_accesses) return false;
        if (insn->n_accesses > MOST_ACCESSES || !is_word(b, insn->rep_words, 3)) return false;
    }
    for (uint32_t i = 0; i < b->n_accesses; i++) {
        const struct ip_tr_access *a = accesses_of(b) + i;
        if (!is_word(b, a->base, 1) || !is_word(b, a->index, 1)) return false;
        if (a->flags & IP_TRA_MAYBE && a->base == NO_WORD) return false;
    }
    if (b->sp_word != ~0u && !is_word(b, b->sp_word, 1)) return false;
    return is_word(b, b->args_word, 6) && is_word(b, b->result_word, 1);
}

/* Is all that the template says within bounds, and its number its own?  Asked once for each. */
static bool is_known(struct ip_mtf *f, const struct ip_tr_block *b) {
    uint64_t off = (uint64_t)((const uint8_t *)b - f->image);
    struct ip_mtf_seen *seen = &f->seen[b->number];
    if (seen->block == off / 8 + 1) return true;
    if (seen->block || off % 8 || !is_sound(b, f->image_bytes - off)) return false;
    seen->block = (uint32_t)(off / 8) + 1;
    return true;
}

static bool has_room(const struct ip_mtf *f) { return f->n_items + MOST_ITEMS <= IP_MTF_ITEMS; }

/* ---- a run ---- */

/* The number of a bit in a register, by the instruction's operand size. */
static int64_t bit_index(const struct ip_tr_insn *insn, uint64_t value) {
    bool is_16 = false;
    const uint8_t *p = insn->bytes;
    for (; p < insn->bytes + insn->len &&
           (*p == 0x66 || *p == 0x67 || *p == 0xf0 || *p == 0xf2 || *p == 0xf3 || *p == 0x2e || *p == 0x36 ||
            *p == 0x3e || *p == 0x26 || *p == 0x64 || *p == 0x65);
         p++)
        is_16 |= *p == 0x66;
    if ((*p & 0xf8) == 0x48) return (int64_t)value; /* REX.W */
    return is_16 ? (int16_t)value : (int32_t)value;
}

static uint64_t address_of(const struct ip_mtf *f, const struct ip_tr_insn *insn, const struct ip_tr_access *a,
                           const uint64_t *words, uint64_t step) {
    uint64_t sum = (uint64_t)a->disp;
    if (a->base != NO_WORD) sum += words[a->base] + step;
    if (a->index != NO_WORD) {
        uint64_t index = a->flags & IP_TRA_BYTE ? (uint8_t)words[a->index] : words[a->index];
        if (a->flags & IP_TRA_BIT) {
            /* The byte that the bit lies in: a register names bits beyond the operand, too. */
            sum += (uint64_t)(bit_index(insn, index) >> 3);
        } else {
            sum += index * a->scale;
        }
    }
    if (a->flags & IP_TRA_ADDR32) sum = (uint32_t)sum;
    if (a->seg == IP_SEG_FS) sum += f->fs;
    if (a->seg == IP_SEG_GS) sum += f->gs;
    return sum;
}

static bool is_made(const struct ip_tr_access *a, const uint64_t *words) {
    return !(a->flags & IP_TRA_MAYBE) || words[a->base] != IP_TR_NOWHERE;
}

static uint32_t prefetch_type(const struct ip_tr_insn *insn) {
    const uint8_t *p = insn->bytes, *end = p + insn->len;
    while (p + 2 < end && *p != 0x0f) p++;
    if (p + 2 >= end) return IP_MT_PREFETCH;
    uint32_t reg = p[2] >> 3 & 7;
    if (p[1] == 0x0d) return reg == 1 || reg == 2 ? IP_MT_PREFETCH_WRITE_L1 : IP_MT_PREFETCH_READ_L1;
    static const uint8_t by_reg[] = {IP_MT_PREFETCHNTA, IP_MT_PREFETCH_READ_L1, IP_MT_PREFETCH_READ_L2,
                                     IP_MT_PREFETCH_READ_L3};
    return reg < 4 ? by_reg[reg] : IP_MT_PREFETCH;
}

static uint32_t access_type(const struct ip_tr_insn *insn, const struct ip_tr_access *a) {
    if (a->flags & IP_TRA_PREFETCH) return prefetch_type(insn);
    return a->kind == IP_ACC_W ? IP_MT_WRITE : IP_MT_READ;
}

/* A hint names a byte. */
static uint32_t access_size(const struct ip_tr_access *a) { return a->flags & IP_TRA_PREFETCH ? 1 : a->size; }

/* As items, for an instruction that is one. */
static void accesses(struct ip_mtf *f, const struct ip_tr_block *b, const struct ip_tr_insn *insn,
                     const uint64_t *words) {
    const struct ip_tr_access *a = accesses_of(b) + insn->first_access;
    for (uint32_t k = insn->n_accesses; k > 0; k--, a++)
        if (is_made(a, words)) item(f, access_type(insn, a), access_size(a), address_of(f, insn, a, words, 0));
}

/* To the writer, which has room. */
static void put_accesses(struct ip_mtf *f, const struct ip_tr_block *b, const struct ip_tr_insn *insn,
                         const uint64_t *words, uint64_t step) {
    const struct ip_tr_access *a = accesses_of(b) + insn->first_access;
    uint8_t *at = f->w.out + f->w.used;
    for (uint32_t k = insn->n_accesses; k > 0; k--, a++) {
        if (!is_made(a, words)) continue;
        at = ip_mt_put(at, access_type(insn, a), access_size(a), address_of(f, insn, a, words, step));
        f->w.records++;
    }
    f->w.used = (uint64_t)(at - f->w.out);
}

static const uint8_t type_of[] = {
    [IP_TR_PLAIN] = IP_MT_INSTR,
    [IP_TR_DIRECT_JUMP] = IP_MT_INSTR_DIRECT_JUMP,
    [IP_TR_COND_JUMP] = IP_MT_INSTR_UNTAKEN_JUMP,
    [IP_TR_DIRECT_CALL] = IP_MT_INSTR_DIRECT_CALL,
    [IP_TR_INDIRECT_CALL] = IP_MT_INSTR_INDIRECT_CALL,
    [IP_TR_INDIRECT_JUMP] = IP_MT_INSTR_INDIRECT_JUMP,
    [IP_TR_RETURN] = IP_MT_INSTR_RETURN,
    [IP_TR_SYSCALL_INSN] = IP_MT_INSTR,
};

/* Room in the writer's buffer for an instruction that is known, or an iteration, and its accesses. */
static bool has_space(const struct ip_mtf *f) {
    return f->w.capacity - f->w.used >= (1 + MOST_ACCESSES) * IP_MT_ENTRY && f->w.cut == 0;
}

/* Does the open chunk have the encodings of the first instructions of the template, and of how many? */
static uint32_t known_upto(const struct ip_mtf *f, const struct ip_mtf_seen *seen) {
    return seen->chunk == f->w.chunk && seen->changes == f->w.changes ? seen->upto : 0;
}

/* To the writer, without its accesses. */
static int put_instruction(struct ip_mtf *f, const struct ip_tr_insn *insn, bool is_known) {
    struct ip_mt_writer *w = &f->w;
    if (is_known && has_space(f) && w->used <= w->capacity / 4 * 3 &&
        (w->chunk_instrs == 0 || w->instrs_in_chunk < w->chunk_instrs)) {
        ip_mt_put(w->out + w->used, type_of[insn->kind], insn->len, insn->pc);
        w->used += IP_MT_ENTRY;
        w->instrs++;
        w->instrs_in_chunk++;
        w->records++;
    } else {
        int r = ip_mt_instr(w, type_of[insn->kind], insn->pc, insn->len, insn->bytes, 0);
        f->whole = w->whole || r == IP_MT_CHUNK;
        if (r != IP_MT_OK) return r;
    }
    f->instrs++;
    return IP_MT_OK;
}

/* The instructions that a client request is made of: rotations of RDI, and an exchange, whose bytes the template has.
 */
static int put_marker(struct ip_mtf *f, const struct ip_tr_insn *insn) {
    static const uint8_t rotations[][16] = {
        {0x48, 0xc1, 0xc7, 3}, {0x48, 0xc1, 0xc7, 13}, {0x48, 0xc1, 0xc7, 61}, {0x48, 0xc1, 0xc7, 51}};
    enum { ROTATIONS = sizeof rotations / sizeof *rotations, BYTES = 4 };
    for (; f->iteration <= ROTATIONS; f->iteration++) {
        bool is_last = f->iteration == ROTATIONS;
        int r = ip_mt_instr(&f->w, IP_MT_INSTR, insn->pc + BYTES * f->iteration,
                            is_last ? MARKER_BYTES - BYTES * ROTATIONS : BYTES,
                            is_last ? insn->bytes : rotations[f->iteration], 0);
        f->whole = f->w.whole || r == IP_MT_CHUNK;
        if (r != IP_MT_OK) return r;
        f->instrs++;
    }
    f->iteration = 0;
    return IP_MT_OK;
}

/* The iterations of a string instruction, from f->iteration on; the first one's instruction is written. */
static int iterations(struct ip_mtf *f, const struct ip_tr_block *b, const struct ip_tr_insn *insn,
                      const uint64_t *words) {
    bool addr32 = insn->n_accesses && (accesses_of(b)[insn->first_access].flags & IP_TRA_ADDR32);
    uint64_t mask = addr32 ? 0xffffffff : ~0ull;
    const uint64_t *rep = words + insn->rep_words;
    uint64_t n = (rep[0] - rep[1]) & mask, size = 1;
    bool down = false;
    if (insn->n_accesses) {
        const struct ip_tr_access *a = accesses_of(b) + insn->first_access;
        size = a->size;
        for (uint32_t k = 0; k < insn->n_accesses; k++)
            if (a[k].base != NO_WORD &&
                ((words[a[k].base] + (uint64_t)a[k].disp - rep[2]) & mask) == ((n * size) & mask))
                down = true;
    }
    for (; f->iteration < n; f->iteration++) {
        if (!has_space(f)) {
            f->whole = 0;
            return IP_MT_FULL;
        }
        if (f->iteration) {
            ip_mt_put(f->w.out + f->w.used, IP_MT_INSTR_NO_FETCH, insn->len, insn->pc);
            f->w.used += IP_MT_ENTRY;
            f->w.records++;
        }
        uint64_t step = f->iteration * size;
        put_accesses(f, b, insn, words, down ? 0 - step : step);
    }
    f->iteration = 0;
    return IP_MT_OK;
}

/* The last instruction of a run, whose record depends on what comes next, becomes an item. */
static void pend(struct ip_mtf *f, const struct ip_tr_block *b, const struct ip_tr_insn *insn, const uint64_t *words,
                 bool is_known, bool is_end) {
    f->pending = (int32_t)f->n_items;
    f->pending_kind = insn->kind;
    f->pending_target = insn->target;
    f->pending_next = insn->pc + insn->len;
    f->pending_has_sp = b->sp_word != ~0u && is_end;
    if (f->pending_has_sp) f->pending_sp = words[b->sp_word] + (uint64_t)(int64_t)b->sp_disp;
    f->pending_has_result = b->result_word != NO_WORD && f->pending_has_sp;
    if (f->pending_has_result) f->pending_result = words[b->result_word];
    struct ip_mt_item *i = item(f, type_of[insn->kind], insn->len, insn->pc);
    memcpy(i->code, insn->bytes, sizeof i->code);
    i->target = 0;
    i->known = is_known ? (uint32_t)f->w.chunk + 1 : 0;
    f->instrs++;
    accesses(f, b, insn, words);
}

static bool is_pending_kind(uint32_t kind) {
    return kind != IP_TR_PLAIN && kind != IP_TR_DIRECT_JUMP && kind != IP_TR_DIRECT_CALL;
}

/* The instructions of a run from f->insn on, up to completed; all items before them are written. */
static int lay_out(struct ip_mtf *f, const struct ip_tr_block *b, const uint64_t *words, uint32_t completed) {
    const struct ip_tr_insn *insn = insns_of(b) + f->insn;
    struct ip_mtf_seen *seen = &f->seen[b->number];
    uint32_t known = known_upto(f, seen);
    for (; f->insn < completed; f->insn++, insn++) {
        bool last = f->insn + 1 == completed;
        if (last && is_pending_kind(insn->kind) && insn->rep_words == NO_WORD) {
            pend(f, b, insn, words, f->insn < known, completed == b->n_insns);
            if (f->insn == 0) f->at_chunk = f->w.chunk, f->at_changes = f->w.changes;
            continue;
        }
        if (!f->in_rep) {
            int r = insn->len == MARKER_BYTES ? put_marker(f, insn) : put_instruction(f, insn, f->insn < known);
            if (r != IP_MT_OK) return r;
            if (f->insn == 0) f->at_chunk = f->w.chunk, f->at_changes = f->w.changes;
        }
        if (insn->rep_words != NO_WORD) {
            f->in_rep = 1;
            int r = iterations(f, b, insn, words);
            if (r != IP_MT_OK) return r;
            f->in_rep = 0;
            continue;
        }
        put_accesses(f, b, insn, words, 0);
        if (last && insn->kind == IP_TR_DIRECT_CALL && f->traced_ids && b->sp_word != ~0u)
            calls(f, words[b->sp_word] + (uint64_t)(int64_t)b->sp_disp - 8, insn->pc + insn->len);
    }
    /* What was written from its first instruction on, in one chunk, is there. */
    if (completed > known && f->first == 0 && f->w.chunk == f->at_chunk && f->w.changes == f->at_changes) {
        seen->upto = completed;
        seen->chunk = (uint32_t)f->w.chunk;
        seen->changes = f->w.changes;
    }
    return IP_MT_OK;
}

/* What comes before the first instruction of a run. */
static void begin(struct ip_mtf *f, const struct ip_tr_block *b, const uint64_t *words) {
    const struct ip_tr_insn *first = insns_of(b) + f->insn;
    if (f->pending >= 0) {
        if (f->pending_kind == IP_TR_SYSCALL_INSN && f->syscall < 0)
            drop_pending(f); /* what it called is not known */
        else
            resolve(f, first->pc);
    }
    if (f->insn == 0 && f->traced_ids && first->function && first->function < f->n_functions &&
        f->functions[first->function].entry == first->pc && f->running)
        enters(f, first->function, words, b->args_word);
    held_time(f);
    f->running = 1;
    f->syscall = -1;
}

/* ---- events ---- */

/* Calls that may wait for something. */
static bool may_block(uint64_t number) {
    static const uint16_t numbers[] = {
        __NR_read,
        __NR_write,
        __NR_poll,
        __NR_pread64,
        __NR_pwrite64,
        __NR_readv,
        __NR_writev,
        __NR_select,
        __NR_msync,
        __NR_pause,
        __NR_nanosleep,
        __NR_sendfile,
        __NR_connect,
        __NR_accept,
        __NR_sendto,
        __NR_recvfrom,
        __NR_sendmsg,
        __NR_recvmsg,
        __NR_vfork,
        __NR_wait4,
        __NR_semop,
        __NR_msgsnd,
        __NR_msgrcv,
        __NR_fcntl,
        __NR_flock,
        __NR_fsync,
        __NR_fdatasync,
        __NR_rt_sigtimedwait,
        __NR_rt_sigsuspend,
        __NR_sync,
        __NR_futex,
        __NR_io_getevents,
        __NR_semtimedop,
        __NR_clock_nanosleep,
        __NR_epoll_wait,
        __NR_mq_timedsend,
        __NR_mq_timedreceive,
        __NR_waitid,
        __NR_open,
        __NR_openat,
        __NR_pselect6,
        __NR_ppoll,
        __NR_splice,
        __NR_tee,
        __NR_sync_file_range,
        __NR_vmsplice,
        __NR_epoll_pwait,
        __NR_accept4,
        __NR_preadv,
        __NR_pwritev,
        __NR_recvmmsg,
        __NR_sendmmsg,
        __NR_syncfs,
        __NR_copy_file_range,
        __NR_preadv2,
        __NR_pwritev2,
        __NR_io_uring_enter,
        __NR_epoll_pwait2,
        __NR_futex_waitv,
        __NR_ioctl,
        __NR_sched_yield,
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (numbers[i] == number) return true;
    return false;
}

static int args_of(const struct ip_mtf *f, uint64_t number) {
    return number < f->n_syscalls ? f->syscall_args[number] : -1;
}

static void call_begins(struct ip_mtf *f, const uint64_t *v) {
    f->pending = -1; /* the instruction stays */
    time_is(f, v[7], v[8]);
    marker(f, IP_MTM_SYSCALL, v[0]);
    if (may_block(v[0])) marker(f, IP_MTM_MAYBE_BLOCKING_SYSCALL, 0);
    int n = args_of(f, v[0]);
    if (n >= 0) marker(f, IP_MTM_FUNC_ID, SYSCALL_FUNC + v[0]);
    for (int k = 0; k < n; k++) marker(f, IP_MTM_FUNC_ARG, v[1 + k]);
    f->syscall = (int64_t)v[0];
}

static void call_ends(struct ip_mtf *f, const uint64_t *v) {
    bool failed = v[1] >= -4095ull;
    if (f->syscall < 0) return; /* it began elsewhere: in a thread's maker, outside of a window */
    if (args_of(f, v[0]) >= 0) {
        marker(f, IP_MTM_FUNC_ID, SYSCALL_FUNC + v[0]);
        marker(f, IP_MTM_FUNC_RETVAL, failed ? RETVAL_FAIL : RETVAL_GOOD);
    }
    if (failed) marker(f, IP_MTM_SYSCALL_FAILED, 0 - v[1]);
    time_is(f, v[2], v[3]);
    f->syscall = -1;
}

static void signal_comes(struct ip_mtf *f, const uint64_t *v) {
    if (f->pending >= 0 && f->pending_kind == IP_TR_SYSCALL_INSN && f->syscall < 0)
        drop_pending(f);
    else if (f->pending >= 0)
        resolve(f, v[1]);
    marker(f, IP_MTM_KERNEL_EVENT, v[1]);
    marker(f, IP_MTM_SIGNAL_NUMBER, v[0]);
    time_is(f, v[4], v[5]);
}

/* Execution goes on elsewhere: who called what is about to run is not known. */
static void begin_window(struct ip_mtf *f) {
    drop_pending(f);
    held_time(f);
    marker(f, IP_MTM_WINDOW_ID, f->window + f->gaps);
    f->running = 0;
    f->n_calls = f->n_entered = 0;
}

/* n words at v; false: too few for what it is. */
static bool event(struct ip_mtf *f, uint32_t kind, uint64_t n, const uint64_t *v) {
    static const uint8_t least[] = {[IP_TR_SYSCALL] = 9, [IP_TR_SYSRET] = 4, [IP_TR_SIGNAL] = 6,  [IP_TR_SIGRETURN] = 2,
                                    [IP_TR_FSBASE] = 2,  [IP_TR_TIME] = 2,   [IP_MTR_WINDOW] = 2, [IP_MTR_CUT] = 1};
    if (kind < sizeof least && n < least[kind]) return false;
    switch (kind) {
    case IP_TR_SYSCALL:
        if (f->pending >= 0 && f->pending_kind == IP_TR_SYSCALL_INSN) call_begins(f, v);
        break;
    case IP_TR_SYSRET: call_ends(f, v); break;
    case IP_TR_SIGNAL: signal_comes(f, v); break;
    case IP_TR_SIGRETURN:
        marker(f, IP_MTM_KERNEL_XFER, f->pending_next);
        f->syscall = -1;
        break;
    case IP_TR_FSBASE: f->fs = v[0], f->gs = v[1]; break;
    case IP_TR_TIME: f->held_time = v[0], f->held_cpu = v[1], f->has_held = 1; break;
    case IP_MTR_WINDOW:
        f->window = v[0];
        begin_window(f);
        f->skip = v[1];
        break;
    case IP_TR_GAP:
        if (f->running) {
            f->gaps++;
            begin_window(f);
        }
        break;
    case IP_MTR_CUT: f->take = v[0]; break;
    default: break;
    }
    return true;
}

/* ---- all of it ---- */

/* Unpack the next record; false: there is none. */
static bool next_record(struct ip_mtf *f) {
    struct pk_reader *r = f->reader;
    while (r->at == r->end && pk_between(r)) {
        if (f->part == f->n_parts) return false;
        const struct ip_mtf_part *part = &f->parts[f->part++];
        r->at = f->raw + part->offset;
        r->end = r->at + part->bytes;
    }
    if (pk_read(r, &f->block, &f->completed, f->record, &f->n_record)) return true;
    f->bad = r->wrong;
    return false;
}

/* One record, or as much of it as there is room for.  IP_MT_OK, or what is to be done before it goes on. */
static int record(struct ip_mtf *f) {
    if (!f->in_run) {
        if (!next_record(f)) {
            f->ended = 1;
            return IP_MT_OK;
        }
        if (f->block == NULL) {
            if (!event(f, f->completed, f->n_record, f->record)) {
                f->bad = "an event has too few words";
                f->ended = 1;
            }
            return IP_MT_OK;
        }
        const struct ip_tr_block *b = f->block;
        uint32_t done = f->completed;
        if (!is_known(f, b)) {
            f->bad = "a block of code is none";
            f->ended = 1;
            return IP_MT_OK;
        }
        f->insn = (uint32_t)(f->skip < done ? f->skip : done);
        f->skip = 0;
        f->cutting = f->take != ~0ull;
        if (f->cutting && f->take == 0 && f->pending >= 0 && f->pending_kind != IP_TR_SYSCALL_INSN)
            resolve(f, insns_of(b)->pc);
        if (f->insn == done || (f->cutting && f->take == 0)) {
            f->take = ~0ull;
            return IP_MT_OK;
        }
        begin(f, b, f->record);
        f->first = f->insn;
        f->at_chunk = ~0ull;
        f->in_run = 1;
    }
    uint32_t upto = f->cutting && f->take < f->completed ? (uint32_t)f->take : f->completed;
    int r = flush(f);
    if (r == IP_MT_OK) r = lay_out(f, f->block, f->record, upto);
    if (r != IP_MT_OK) return r;
    if (f->cutting) {
        if (f->pending >= 0 && upto < f->completed) resolve(f, insns_of(f->block)[upto].pc);
        f->cutting = 0;
        f->take = ~0ull;
    }
    f->in_run = 0;
    return IP_MT_OK;
}

int ip_mtf_run(struct ip_mtf *f) {
    while (!f->done) {
        int r = IP_MT_OK;
        if (!f->ended) {
            if (!f->in_run && !has_room(f)) r = flush(f);
            if (r == IP_MT_OK) r = record(f);
            if (f->ended) drop_pending(f);
        } else {
            r = flush(f);
            if (r == IP_MT_OK) r = ip_mt_end(&f->w);
            if (r == IP_MT_OK) f->done = 1;
        }
        if (r != IP_MT_OK) return r;
    }
    return IP_MT_OK;
}
