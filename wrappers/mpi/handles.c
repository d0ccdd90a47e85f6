/* Objects that the program made and has to free, with the call that made each. */
#include <stdio.h>

#include "mpiwrap.h"

struct object {
    enum ip_kind kind;
    uintptr_t handle;
    const char *function;
    const void *caller;
    struct object *next;
};

enum { BUCKETS = 4096, SITES = 64 };
static struct object *objects[BUCKETS];
static MPI_Count alive[IP_KINDS];

static struct object **bucket(enum ip_kind kind, uintptr_t handle) {
    return &objects[((handle + (uintptr_t)kind) * 0x9e3779b97f4a7c15u) >> 52];
}

static bool is_predefined(enum ip_kind kind, uintptr_t handle) {
    switch (kind) {
    case IP_COMM:
        return handle == IP_WORD(MPI_COMM_NULL) || handle == IP_WORD(MPI_COMM_WORLD) ||
               handle == IP_WORD(MPI_COMM_SELF);
    case IP_TYPE: return handle == IP_WORD(MPI_DATATYPE_NULL);
    case IP_OP: return handle == IP_WORD(MPI_OP_NULL);
    case IP_GROUP_: return handle == IP_WORD(MPI_GROUP_NULL) || handle == IP_WORD(MPI_GROUP_EMPTY);
    case IP_WIN: return handle == IP_WORD(MPI_WIN_NULL);
    case IP_FILE_: return handle == IP_WORD(MPI_FILE_NULL);
    case IP_INFO: return handle == IP_WORD(MPI_INFO_NULL) || handle == IP_WORD(MPI_INFO_ENV);
    case IP_ERRH:
#ifdef MPI_ERRORS_ABORT
        if (handle == IP_WORD(MPI_ERRORS_ABORT)) return true;
#endif
        return handle == IP_WORD(MPI_ERRHANDLER_NULL) || handle == IP_WORD(MPI_ERRORS_ARE_FATAL) ||
               handle == IP_WORD(MPI_ERRORS_RETURN);
    case IP_MESSAGE: return handle == IP_WORD(MPI_MESSAGE_NULL) || handle == IP_WORD(MPI_MESSAGE_NO_PROC);
    default: return handle == 0;
    }
}

void ip_made(enum ip_kind kind, uintptr_t handle, const struct ip_call *call) {
    if (is_predefined(kind, handle)) return;
    struct object *object = ip_alloc(sizeof *object);
    *object = (struct object){kind, handle, call->function, call->caller, NULL};
    ip_lock();
    /* Of a handle that counts references, the last one made is the first one freed. */
    object->next = *bucket(kind, handle);
    *bucket(kind, handle) = object;
    alive[kind]++;
    ip_unlock();
}

void ip_made_type(MPI_Datatype type, const struct ip_call *call) {
    ip_layout_forget(type); /* an old type of the same handle that the library freed itself */
    if (!ip_type_is_named(type)) ip_made(IP_TYPE, IP_WORD(type), call);
}

/* The handles that MPI_Type_get_contents gives. */
void ip_made_contents(MPI_Datatype type, const MPI_Datatype *contents, MPI_Count room, const struct ip_call *call) {
    int ints, addresses, types = 0, combiner;
#ifdef HAVE_PMPI_Type_get_contents_c
    MPI_Count n_ints, n_addresses, n_wide, n_types = 0;
    (void)ints, (void)addresses;
    PMPI_Type_get_envelope_c(type, &n_ints, &n_addresses, &n_wide, &n_types, &combiner);
    types = (int)n_types;
#else
    PMPI_Type_get_envelope(type, &ints, &addresses, &types, &combiner);
#endif
    for (int i = 0; i < types && i < room; i++) ip_made_type(contents[i], call);
}

void ip_freed(enum ip_kind kind, uintptr_t handle) {
    ip_lock();
    for (struct object **link = bucket(kind, handle); *link; link = &(*link)->next) {
        struct object *object = *link;
        if (object->kind == kind && object->handle == handle) {
            *link = object->next;
            alive[kind]--;
            ip_free(object);
            break;
        }
    }
    ip_unlock();
}

static const char *const names[IP_KINDS][2] = {
    [IP_COMM] = {"communicator", "communicators"},
    [IP_TYPE] = {"datatype", "datatypes"},
    [IP_OP] = {"operation", "operations"},
    [IP_GROUP_] = {"group", "groups"},
    [IP_WIN] = {"window", "windows"},
    [IP_FILE_] = {"file", "files"},
    [IP_INFO] = {"info object", "info objects"},
    [IP_ERRH] = {"error handler", "error handlers"},
    [IP_MESSAGE] = {"matched message", "matched messages"},
    [IP_SESSION] = {"session", "sessions"},
    [IP_MEMORY] = {"block of MPI_Alloc_mem", "blocks of MPI_Alloc_mem"},
};

struct site {
    const char *function;
    const void *caller;
    MPI_Count n;
};

static void tell_kind(enum ip_kind kind) {
    struct site sites[SITES] = {0};
    size_t n = 0;
    MPI_Count others = 0;
    ip_lock();
    for (size_t i = 0; i < BUCKETS; i++)
        for (const struct object *object = objects[i]; object; object = object->next) {
            if (object->kind != kind) continue;
            size_t k = 0;
            while (k < n && (sites[k].caller != object->caller || sites[k].function != object->function)) k++;
            if (k == SITES) {
                others++;
                continue;
            }
            sites[k] = (struct site){object->function, object->caller, sites[k].n + 1};
            n += k == n;
        }
    ip_unlock();
    for (size_t i = 0; i < n; i++) {
        char where[256];
        ip_where(sites[i].caller, where);
        ip_say("%lld %s not freed before MPI_Finalize, made by %s (%s)", (long long)sites[i].n,
               names[kind][sites[i].n != 1], sites[i].function, where);
    }
    if (others) ip_say("%lld more %s not freed, made in other places", (long long)others, names[kind][1]);
}

void ip_tell_leaks(void) {
    for (int kind = 0; kind < IP_KINDS; kind++)
        if (alive[kind]) tell_kind((enum ip_kind)kind);
}
