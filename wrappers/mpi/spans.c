/* The buffers of a call: what it reads must be defined, what it stores into must be there, and is defined then. */
#include <string.h>

#include "mpiwrap.h"

/* ---- walking a layout, piece by piece in the order of its type map */

struct run {
    uintptr_t at;
    MPI_Count used; /* bytes looked at */
    MPI_Count size; /* bytes of data that they stand for */
};

struct frame {
    const struct ip_layout *layout;
    uintptr_t at;
    MPI_Count next;
};

struct cursor {
    struct frame *frames, few[12];
    int depth;
    struct run waiting;
};

static void push(struct cursor *cursor, const struct ip_layout *layout, uintptr_t at) {
    cursor->frames[cursor->depth++] = (struct frame){layout, at, 0};
}

static bool raw_run(struct cursor *cursor, struct run *run) {
    while (cursor->depth) {
        struct frame *top = &cursor->frames[cursor->depth - 1];
        const struct ip_layout *layout = top->layout;
        if (layout->kind == IP_PIECE) {
            *run = (struct run){top->at + (uintptr_t)layout->low, layout->high - layout->low, layout->size};
            cursor->depth--;
            if (run->used) return true;
        } else if (top->next == layout->times) {
            cursor->depth--;
        } else if (layout->kind == IP_REPEAT) {
            push(cursor, layout->child, top->at + (uintptr_t)(layout->stride * (MPI_Aint)top->next++));
        } else {
            const struct ip_part *part = &layout->parts[top->next++];
            push(cursor, part->child, top->at + (uintptr_t)part->at);
        }
    }
    return false;
}

/* Runs that touch come as one. */
static bool next_run(struct cursor *cursor, struct run *run) {
    struct run more;
    *run = cursor->waiting;
    cursor->waiting.used = 0;
    if (!run->used && !raw_run(cursor, run)) return false;
    while (raw_run(cursor, &more)) {
        if (run->used != run->size || more.at != run->at + (uintptr_t)run->used) {
            cursor->waiting = more;
            break;
        }
        run->used += more.used;
        run->size += more.size;
    }
    return true;
}

/* `whole` must stay where it is while the cursor is used. */
static void begin(struct cursor *cursor, const struct ip_span *span, struct ip_layout *whole) {
    *whole = (struct ip_layout){.kind = IP_REPEAT,
                                .times = span->count,
                                .stride = span->layout->extent,
                                .child = span->layout,
                                .depth = span->layout->depth + 1};
    *cursor = (struct cursor){0};
    cursor->frames = (size_t)whole->depth <= IP_COUNT_OF(cursor->few)
                         ? cursor->few
                         : ip_alloc(sizeof *cursor->frames * (size_t)whole->depth);
    push(cursor, whole, span->base);
}

static void end(struct cursor *cursor) {
    if (cursor->frames != cursor->few) ip_free(cursor->frames);
}

static bool is_empty(const struct ip_span *span) { return span->count <= 0 || span->layout->pieces == 0; }

/* One run of bytes? Then that. */
static bool is_one_run(const struct ip_span *span, struct run *run) {
    const struct ip_layout *layout = span->layout;
    if (layout->kind != IP_PIECE || (span->count > 1 && layout->extent != layout->high - layout->low)) return false;
    MPI_Count bytes = span->count * (layout->high - layout->low);
    *run = (struct run){span->base + (uintptr_t)layout->low, bytes, span->count * layout->size};
    return true;
}

static struct run hull(const struct ip_span *span) {
    MPI_Aint last = (MPI_Aint)(span->count - 1) * span->layout->extent;
    MPI_Aint low = span->layout->low + (last < 0 ? last : 0), high = span->layout->high + (last > 0 ? last : 0);
    return (struct run){span->base + (uintptr_t)low, high - low, high - low};
}

static uintptr_t check(struct run run, bool read) {
    return read ? INTERPOSE_CHECK_MEM_IS_DEFINED(run.at, run.used)
                : INTERPOSE_CHECK_MEM_IS_ADDRESSABLE(run.at, run.used);
}

static bool is_fine(struct run run, bool read) {
    uintptr_t bad;
    INTERPOSE_DISABLE_ERROR_REPORTING;
    bad = check(run, read);
    INTERPOSE_ENABLE_ERROR_REPORTING;
    return bad == 0;
}

/* A question about so many bytes costs as much as one about a piece. */
enum { WORTH_A_PIECE = 4096 };

/* Whether all of it is fine, holes included: one question instead of one for each piece, unless pieces are few and far
 * from each other. */
static bool is_all_fine(const struct ip_span *span, bool read) {
    struct run run = hull(span);
    return run.used / WORTH_A_PIECE / span->count <= span->layout->pieces && is_fine(run, read);
}

/* ---- checking */

static void describe(const struct ip_call *call, const struct ip_span *span, uintptr_t bad, bool read) {
    MPI_Aint extent = span->layout->extent, offset = (MPI_Aint)(bad - span->base);
    const char *what = read ? "is not defined (or not there)" : "is not there to be stored into";
    if (span->base == 0) /* MPI_BOTTOM */
        ip_say("%s: %s: the byte at %p %s", call->function, span->name, (void *)bad, what);
    else if (span->count > 1 && extent > 0 && offset >= 0)
        ip_say("%s: byte %ld of %s, in element %ld of %lld, %s", call->function, (long)offset, span->name,
               (long)(offset / extent), (long long)span->count, what);
    else
        ip_say("%s: byte %ld of %s %s", call->function, (long)offset, span->name, what);
}

/* The first piece that is not fine; nothing is reported. */
static bool find_bad(const struct ip_span *span, bool read, struct run *bad) {
    if (is_one_run(span, bad)) return !is_fine(*bad, read);
    if (is_all_fine(span, read)) return false;
    struct cursor cursor;
    struct ip_layout whole;
    bool found = false;
    begin(&cursor, span, &whole);
    INTERPOSE_DISABLE_ERROR_REPORTING;
    while (!found && next_run(&cursor, bad)) found = check(*bad, read) != 0;
    INTERPOSE_ENABLE_ERROR_REPORTING;
    end(&cursor);
    return found;
}

/* The request that reports is made here, so that every report has the same frame between it and the wrapper. What is
 * fine costs no question to the supervisor, which knows the number of errors. */
void ip_check_buffers(const struct ip_call *call, const struct ip_spans *spans, bool read, bool store) {
    if (!ip_has_bits) return;
    for (int i = 0; i < spans->n; i++) {
        const struct ip_span *span = &spans->all[i];
        bool is_read = span->role == IP_READ;
        struct run run;
        if (is_empty(span) || (is_read ? !read : !store) || !find_bad(span, is_read, &run)) continue;
        unsigned long errors = INTERPOSE_COUNT_ERRORS;
        uintptr_t bad = is_read ? INTERPOSE_CHECK_MEM_IS_DEFINED(run.at, run.used)
                                : INTERPOSE_CHECK_MEM_IS_ADDRESSABLE(run.at, run.used);
        if (bad && INTERPOSE_COUNT_ERRORS != errors && ip_first_time(call->caller, call->function, span->name))
            describe(call, span, bad, is_read);
    }
}

void ip_arrived(const struct ip_span *span, MPI_Count bytes) {
    if (!ip_has_bits || span->role != IP_STORE || is_empty(span) || bytes == 0) return;
    if (is_all_fine(span, true)) return;
    struct run run;
    if (is_one_run(span, &run) && (bytes < 0 || run.used == run.size)) {
        INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(run.at, bytes >= 0 && bytes < run.used ? bytes : run.used);
        return;
    }
    struct cursor cursor;
    struct ip_layout whole;
    begin(&cursor, span, &whole);
    while (bytes != 0 && next_run(&cursor, &run)) {
        MPI_Count now = bytes >= 0 && bytes < run.used ? bytes : run.used;
        INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(run.at, now);
        if (bytes > 0) bytes = bytes > run.size ? bytes - run.size : 0;
    }
    end(&cursor);
}

MPI_Count ip_bytes_of(const MPI_Status *status) {
    MPI_Count bytes = 0;
    if (PMPI_Get_elements_x(status, MPI_BYTE, &bytes) != MPI_SUCCESS || bytes < 0) return 0;
    return bytes;
}

void ip_all_arrived(const struct ip_spans *spans, const MPI_Status *status) {
    for (int i = 0; i < spans->n; i++)
        if (spans->all[i].role == IP_STORE)
            ip_arrived(&spans->all[i], spans->all[i].by_status && status ? ip_bytes_of(status) : -1);
}

void ip_undefined_argument(const struct ip_call *call, const char *name, void *argument, size_t size) {
    if (argument) INTERPOSE_MAKE_MEM_DEFINED(argument, size);
    if (ip_first_time(call->caller, call->function, name))
        ip_say("%s: argument %s is not defined", call->function, name);
}

bool ip_is_marker(const void *pointer) {
    return (uintptr_t)pointer < 4096 || pointer == (const void *)MPI_STATUS_IGNORE ||
           pointer == (const void *)MPI_STATUSES_IGNORE || pointer == (const void *)MPI_UNWEIGHTED ||
           pointer == (const void *)MPI_WEIGHTS_EMPTY || pointer == (const void *)MPI_ERRCODES_IGNORE;
}

/* ---- calls and their spans */

/* The frame of the outermost MPI call that this thread is in, and what it returns to. A frame may be gone: an exception
 * or a longjmp left it, out of an error handler. */
static __thread const char *outermost;
static __thread const void *outer_caller;

/* A frame that is alive lies above, and holds its return address. */
static bool is_inside(const char *frame) {
    if (!outermost || frame >= outermost) return false;
    const void *returns_to = *(const void *const *)(outermost + sizeof(void *));
    INTERPOSE_MAKE_MEM_DEFINED(&returns_to, sizeof returns_to);
    return returns_to == outer_caller;
}

bool ip_enter(struct ip_call *call, const char *function, const void *caller, const void *frame) {
    if (is_inside(frame)) return false;
    outer_caller = caller;
    outermost = frame;
    call->function = function;
    call->spans.all = call->spans.few;
    call->spans.n = 0;
    call->spans.room = IP_COUNT_OF(call->spans.few);
    ip_start();
    call->caller = ip_caller_in_program(caller);
    if (ip_verbose) ip_say("enter %s", function);
    return true;
}

void ip_leave(struct ip_call *call) {
    ip_spans_drop(&call->spans);
    if (ip_verbose) ip_say(" exit %s", call->function);
    outermost = NULL;
}

void ip_spans_drop(struct ip_spans *spans) {
    for (int i = 0; i < spans->n; i++) ip_layout_drop(spans->all[i].layout);
    if (spans->all != spans->few) ip_free(spans->all);
    spans->all = spans->few;
    spans->n = 0;
}

void ip_spans_move(struct ip_spans *to, struct ip_spans *from) {
    *to = *from;
    if (from->all == from->few) to->all = to->few;
    from->all = from->few;
    from->n = 0;
}

static struct ip_span *new_span(struct ip_spans *spans) {
    if (spans->n == spans->room) {
        struct ip_span *more = ip_alloc(sizeof *more * 2 * (size_t)spans->room);
        memcpy(more, spans->all, sizeof *more * (size_t)spans->n);
        if (spans->all != spans->few) ip_free(spans->all);
        spans->all = more;
        spans->room *= 2;
    }
    return &spans->all[spans->n++];
}

void ip_add(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, MPI_Count count,
            MPI_Datatype type, bool by_status) {
    if (count <= 0 || type == MPI_DATATYPE_NULL || buffer == MPI_IN_PLACE) return;
    struct ip_layout *layout = ip_layout_of(type);
    *new_span(&call->spans) = (struct ip_span){name, (uintptr_t)buffer, count, layout, role, by_status};
}

void ip_add_blocks(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, int blocks,
                   MPI_Count count, MPI_Datatype type) {
    ip_add(call, role, name, buffer, count * blocks, type, false);
}

void ip_add_own(struct ip_call *call, enum ip_role role, const char *name, const void *buffer, int block,
                MPI_Count count, MPI_Datatype type) {
    int before = call->spans.n;
    ip_add(call, role, name, buffer, count, type, false);
    if (call->spans.n > before) {
        struct ip_span *span = &call->spans.all[before];
        span->base += (uintptr_t)(block * (MPI_Aint)count * span->layout->extent);
    }
}

void ip_add_vector(struct ip_call *call, enum ip_role role, const char *name, const void *buffer,
                   const struct ip_blocks *blocks) {
    /* The library says what is wrong. */
    if ((!blocks->counts && !blocks->wide_counts) || (!blocks->displacements && !blocks->wide_displacements) ||
        !blocks->types)
        return;
    for (int i = blocks->only < 0 ? 0 : blocks->only; i < blocks->n; i++) {
        MPI_Count count = blocks->counts ? blocks->counts[i] : blocks->wide_counts[i];
        MPI_Aint at = blocks->displacements ? blocks->displacements[i] : blocks->wide_displacements[i];
        MPI_Datatype type = blocks->types[blocks->type_each ? i : 0];
        int before = call->spans.n;
        ip_add(call, role, name, buffer, count, type, false);
        if (call->spans.n > before) {
            struct ip_span *span = &call->spans.all[before];
            span->base += (uintptr_t)(blocks->type_each ? at : at * span->layout->extent);
        }
        if (blocks->only >= 0) break;
    }
}
