/* What is under way: requests until they complete, fetches until their window is synchronised, split collectives.
 *
 * A library may give the same handle to several requests that need no work of their own, so a handle stands for a
 * stack of them.
 */
#include <string.h>

#include "mpiwrap.h"

struct request {
    enum { REQUEST, OF_WINDOW, OF_FILE } of;
    uintptr_t handle;
    int rank;
    bool persistent, active;
    int partitions;
    const char *function;
    const void *caller;
    struct ip_spans spans;
    struct request *next;
    struct request *older, *newer; /* of all */
};

enum { BUCKETS = 4096 };
static struct request *requests[BUCKETS], *newest;
static MPI_Count alive;

static struct request **bucket(uintptr_t handle) { return &requests[(handle * 0x9e3779b97f4a7c15u) >> 52]; }

static void add(struct ip_call *call, struct request shape) {
    struct request *request = ip_alloc(sizeof *request);
    *request = shape;
    request->function = call->function;
    request->caller = call->caller;
    ip_spans_move(&request->spans, &call->spans);
    ip_lock();
    request->next = *bucket(shape.handle);
    *bucket(shape.handle) = request;
    request->older = newest;
    if (newest) newest->newer = request;
    newest = request;
    alive += shape.of == REQUEST;
    ip_unlock();
}

/* The locked table's link to it. */
static struct request **find(uintptr_t handle) {
    struct request **link = bucket(handle);
    while (*link && ((*link)->of != REQUEST || (*link)->handle != handle)) link = &(*link)->next;
    return link;
}

static struct request *take(struct request **link) {
    struct request *request = *link;
    if (request) {
        *link = request->next;
        if (request->older) request->older->newer = request->newer;
        if (request->newer)
            request->newer->older = request->older;
        else
            newest = request->older;
        alive -= request->of == REQUEST;
    }
    return request;
}

static void drop(struct request *request) {
    ip_spans_drop(&request->spans);
    ip_free(request);
}

/* ---- buffers that overlap although one of them is stored into */

/* Only what has no holes surely overlaps. */
static bool bounds(const struct ip_span *span, uintptr_t *low, uintptr_t *high) {
    if (span->count <= 0 || span->layout->pieces == 0) return false;
    MPI_Aint last = (MPI_Aint)(span->count - 1) * span->layout->extent;
    *low = span->base + (uintptr_t)(span->layout->low + (last < 0 ? last : 0));
    *high = span->base + (uintptr_t)(span->layout->high + (last > 0 ? last : 0));
    return (MPI_Aint)(*high - *low) == (MPI_Aint)(span->count * span->layout->size);
}

static bool overlap(const struct ip_span *a, const struct ip_span *b) {
    uintptr_t a_low, a_high, b_low, b_high;
    return (a->role == IP_STORE || b->role == IP_STORE) && bounds(a, &a_low, &a_high) && bounds(b, &b_low, &b_high) &&
           a_low < b_high && b_low < a_high;
}

/* Among so many that began last: each call costs as much. */
enum { LOOKED_AT = 128 };

static void tell_overlap(const struct ip_call *call, const struct ip_span *span) {
    const char *name = NULL, *function = NULL;
    const void *caller = NULL;
    int looked_at = 0;
    ip_lock();
    for (const struct request *other = newest; other && !name && looked_at < LOOKED_AT; other = other->older) {
        looked_at++;
        for (int i = 0; other->active && !name && i < other->spans.n; i++)
            if (overlap(span, &other->spans.all[i])) {
                name = other->spans.all[i].name;
                function = other->function;
                caller = other->caller;
            }
    }
    ip_unlock();
    if (name && ip_first_time(call->caller, call->function, function)) {
        char where[256];
        ip_where(caller, where);
        ip_say_where("%s: %s overlaps %s of %s (%s), which is under way", call->function, span->name, name, function,
                     where);
    }
}

void ip_check_overlaps(const struct ip_call *call) {
    const struct ip_spans *spans = &call->spans;
    /* The blocks of a collective's buffer are many, and neighbours only. */
    int n = spans->n < LOOKED_AT ? spans->n : LOOKED_AT;
    for (int i = 0; i < n; i++) {
        const struct ip_span *span = &spans->all[i];
        for (int k = 0; k < i; k++)
            if (strcmp(spans->all[k].name, span->name) != 0 && overlap(&spans->all[k], span) &&
                ip_first_time(call->caller, call->function, "overlap"))
                ip_say_where("%s: %s and %s overlap", call->function, spans->all[k].name, span->name);
        if (newest) tell_overlap(call, span);
    }
}

void ip_request_made(struct ip_call *call, uintptr_t handle, bool persistent, int partitions) {
    if (handle == IP_WORD(MPI_REQUEST_NULL)) return;
    if (ip_verbose)
        ip_say("%s: request %#lx%s, %d buffers", call->function, (unsigned long)handle,
               persistent ? " (persistent)" : "", call->spans.n);
    add(call, (struct request){.of = REQUEST,
                               .handle = handle,
                               .persistent = persistent,
                               .active = !persistent,
                               .partitions = partitions});
}

void ip_request_started(const struct ip_call *call, uintptr_t handle) {
    ip_lock();
    struct request *request = *find(handle);
    struct ip_spans spans = {.all = spans.few};
    bool is_whole = true;
    if (request) {
        request->active = true;
        is_whole = request->partitions == 0;
        /* Only one thread may use a request at a time, so that its spans stay while they are looked at. */
        spans.all = request->spans.all;
        spans.n = request->spans.n;
    }
    ip_unlock();
    /* Partitions are given one by one. */
    ip_check_buffers(call, &spans, is_whole, true);
}

/* Some partitions of the buffers of a request: no spans if it has none of those numbers. */
static void partitions_of(uintptr_t handle, int first, int last, struct ip_spans *part) {
    *part = (struct ip_spans){.all = part->few, .room = IP_COUNT_OF(part->few)};
    ip_lock();
    const struct request *request = *find(handle);
    if (request && request->partitions && request->spans.n == 1 && first >= 0 && first <= last &&
        last < request->partitions) {
        struct ip_span span = request->spans.all[0];
        MPI_Count each = span.count / request->partitions;
        span.base += (uintptr_t)(span.layout->extent * (MPI_Aint)(each * first));
        span.count = each * (last - first + 1);
        ip_layout_keep(span.layout);
        part->all[part->n++] = span;
    }
    ip_unlock();
}

void ip_partitions_ready(const struct ip_call *call, uintptr_t handle, int first, int last) {
    struct ip_spans part;
    partitions_of(handle, first, last, &part);
    ip_check_buffers(call, &part, true, false);
    ip_spans_drop(&part);
}

void ip_partition_arrived(uintptr_t handle, int partition) {
    struct ip_spans part;
    partitions_of(handle, partition, partition, &part);
    ip_all_arrived(&part, NULL);
    ip_spans_drop(&part);
}

void ip_request_cancelled(uintptr_t handle) {
    if (ip_verbose) ip_say("request %#lx is to be cancelled", (unsigned long)handle);
}

void ip_request_freed(uintptr_t handle) {
    ip_lock();
    struct request *request = take(find(handle));
    ip_unlock();
    if (!request) return;
    /* Nobody will tell when it completes. */
    if (request->active) ip_all_arrived(&request->spans, NULL);
    drop(request);
}

void ip_request_done(uintptr_t handle, const MPI_Status *status) {
    if (handle == IP_WORD(MPI_REQUEST_NULL)) return;
    int cancelled = 0;
    if (status) PMPI_Test_cancelled(status, &cancelled);
    ip_lock();
    struct request **link = find(handle), *request = *link;
    bool was_active = request && request->active;
    if (request && request->persistent)
        request->active = false;
    else
        take(link);
    ip_unlock();
    if (!request) return;
    if (ip_verbose && was_active)
        ip_say("request %#lx of %s %s", (unsigned long)handle, request->function,
               cancelled ? "was cancelled"
               : status  ? "is complete"
                         : "failed");
    if (was_active && status && !cancelled) ip_all_arrived(&request->spans, status);
    if (!request->persistent) drop(request);
}

void ip_request_peeked(uintptr_t handle, const MPI_Status *status) {
    int cancelled = 0;
    PMPI_Test_cancelled(status, &cancelled);
    ip_lock();
    const struct request *request = *find(handle);
    ip_unlock();
    if (request && request->active && !cancelled) ip_all_arrived(&request->spans, status);
}

void ip_tell_requests(void) {
    if (alive == 0) return;
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct request *request = requests[i]; request; request = request->next) {
            char where[256];
            MPI_Count same = 1;
            if (request->of != REQUEST || !ip_first_time(request->caller, request->function, "left")) continue;
            for (size_t k = i; k < BUCKETS; k++)
                for (const struct request *other = k == i ? request->next : requests[k]; other; other = other->next)
                    same += other->of == REQUEST && other->caller == request->caller &&
                            other->function == request->function;
            ip_where(request->caller, where);
            ip_say("%lld %s %s at MPI_Finalize, made by %s (%s)", (long long)same, same == 1 ? "request" : "requests",
                   request->persistent && !request->active ? "not freed" : "not completed", request->function, where);
        }
}

/* ---- windows and files */

void ip_pending(struct ip_call *call, enum ip_kind kind, uintptr_t handle, int rank) {
    add(call,
        (struct request){.of = kind == IP_WIN ? OF_WINDOW : OF_FILE, .handle = handle, .rank = rank, .active = true});
}

void ip_synchronised(enum ip_kind kind, uintptr_t handle, int rank, const MPI_Status *status) {
    int of = kind == IP_WIN ? OF_WINDOW : OF_FILE;
    struct request *done = NULL;
    ip_lock();
    for (struct request **link = bucket(handle); *link;) {
        struct request *request = *link;
        if ((int)request->of != of || request->handle != handle || (rank >= 0 && request->rank != rank)) {
            link = &request->next;
            continue;
        }
        take(link);
        request->next = done;
        done = request;
    }
    ip_unlock();
    while (done) {
        struct request *request = done;
        done = request->next;
        for (int i = 0; i < request->spans.n; i++) request->spans.all[i].by_status = status != NULL;
        ip_all_arrived(&request->spans, status);
        drop(request);
    }
}

struct window {
    uintptr_t handle;
    const void *base;
    MPI_Aint size;
    bool was_fenced;
    struct window *next;
};
static struct window *windows;

static void add_window(struct window shape) {
    struct window *window = ip_alloc(sizeof *window);
    ip_lock();
    *window = shape;
    window->next = windows;
    windows = window;
    ip_unlock();
}

void ip_window_made(uintptr_t handle, const void *base, MPI_Aint size) {
    add_window((struct window){.handle = handle, .base = base, .size = size});
}

/* A part of a dynamic window; fences may have been there before. */
void ip_window_attached(uintptr_t handle, const void *base, MPI_Aint size) {
    add_window((struct window){.handle = handle, .base = base, .size = size, .was_fenced = true});
}

/* What other processes stored into the window (perhaps without this one's doing) is defined. Nothing can have been
 * stored when the first fence begins the first epoch. */
void ip_window_exposed(uintptr_t handle, bool by_fence) {
    ip_lock();
    for (struct window *window = windows; window; window = window->next) {
        if (window->handle != handle) continue;
        if (window->size > 0 && (!by_fence || window->was_fenced))
            INTERPOSE_MAKE_MEM_DEFINED_IF_ADDRESSABLE(window->base, window->size);
        window->was_fenced = window->was_fenced || by_fence;
    }
    ip_unlock();
}

/* All parts, or the one that begins there. */
static void remove_windows(uintptr_t handle, const void *base) {
    ip_lock();
    for (struct window **link = &windows; *link;) {
        struct window *window = *link;
        if (window->handle != handle || (base && window->base != base)) {
            link = &window->next;
            continue;
        }
        *link = window->next;
        ip_free(window);
        if (base) break;
    }
    ip_unlock();
}

void ip_window_detached(uintptr_t handle, const void *base) {
    if (base) remove_windows(handle, base);
}

void ip_window_gone(uintptr_t handle) { remove_windows(handle, NULL); }
