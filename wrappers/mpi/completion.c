/* Wrappers of the functions by which requests begin, complete, and go. */
#include <string.h>

#include "mpiwrap.h"

#define BEGIN(name)                                                                                                    \
    InterposeOrigFn orig;                                                                                              \
    struct ip_call call[1];                                                                                            \
    INTERPOSE_GET_ORIG_FN(orig);                                                                                       \
    bool outer = ip_enter(call, "MPI_" #name, __builtin_return_address(0), __builtin_frame_address(0))

/* What a function does about requests: wait for their end, ask for it, or look only, so that they stay. */
enum way { WAITS, TESTS, LOOKS };

/* Handles and statuses of a call: those before it, and statuses also where the program wants none. */
struct many {
    enum way way;
    int n;
    uintptr_t *handles, few_handles[16];
    MPI_Status *statuses, *own, few_statuses[16];
};

static void many_begin(struct many *many, enum way way, int n, const MPI_Request *requests, int n_statuses,
                       MPI_Status *statuses) {
    many->way = way;
    many->n = n = n > 0 && requests ? n : 0;
    bool is_few = (size_t)n <= IP_COUNT_OF(many->few_handles);
    many->handles = is_few ? many->few_handles : ip_alloc(sizeof *many->handles * (size_t)n);
    many->own = NULL;
    for (int i = 0; i < n; i++) many->handles[i] = IP_WORD(requests[i]);
    INTERPOSE_MAKE_MEM_DEFINED(many->handles, sizeof *many->handles * (size_t)n);
    if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE) {
        is_few = n_statuses <= (int)IP_COUNT_OF(many->few_statuses);
        many->own = is_few ? many->few_statuses : ip_alloc(sizeof *many->own * (size_t)n_statuses);
        statuses = many->own;
    }
    many->statuses = statuses;
}

static void many_end(struct many *many) {
    if (many->handles != many->few_handles) ip_free(many->handles);
    if (many->own && many->own != many->few_statuses) ip_free(many->own);
}

static void done(const struct many *many, int request, int status, int result) {
    const MPI_Status *which = &many->statuses[status];
    if (result == MPI_ERR_IN_STATUS) {
        if (which->MPI_ERROR == MPI_ERR_PENDING) return;
        if (which->MPI_ERROR != MPI_SUCCESS) which = NULL;
    } else if (result != MPI_SUCCESS) {
        which = NULL;
    }
    if (request < 0 || request >= many->n) return;
    if (many->way != LOOKS)
        ip_request_done(many->handles[request], which);
    else if (which)
        ip_request_peeked(many->handles[request], which);
}

/* Statuses are written for each request, so that there has to be room for them. */
static void check_many(struct ip_call *call, int n, const MPI_Request *array_of_requests,
                       MPI_Status *array_of_statuses) {
    IP_READS(array_of_requests, n);
    IP_STORES(array_of_statuses, n);
}

/* ---- Wait... and Test... differ in the flag, MPI-4.1's Request_get_status_... in that requests stay */

static int complete_one(struct ip_call *call, bool outer, InterposeOrigFn orig, MPI_Request *request, enum way way,
                        int *flag, MPI_Status *status) {
    struct many many;
    int result;
    if (outer) {
        check_many(call, 1, request, status);
        if (way != WAITS) IP_STORES(flag, 1);
        many_begin(&many, way, 1, request, 1, status);
        status = many.statuses;
    }
    if (way != WAITS)
        INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, status);
    else
        INTERPOSE_CALL_FN_W_WW(result, orig, request, status);
    if (!outer) return result;
    if (result != MPI_SUCCESS || way == WAITS || *flag) done(&many, 0, 0, result);
    many_end(&many);
    ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Wait)(MPI_Request *request, MPI_Status *status) {
    BEGIN(Wait);
    return complete_one(call, outer, orig, request, WAITS, NULL, status);
}

int IP_EXPORT IP_WRAPPER(PMPI_Test)(MPI_Request *request, int *flag, MPI_Status *status) {
    BEGIN(Test);
    return complete_one(call, outer, orig, request, TESTS, flag, status);
}

static int complete_all(struct ip_call *call, bool outer, InterposeOrigFn orig, int count,
                        const MPI_Request *array_of_requests, enum way way, int *flag, MPI_Status *array_of_statuses) {
    struct many many;
    int result;
    if (outer) {
        IP_VALUE(count);
        if (way != WAITS) IP_STORES(flag, 1);
        check_many(call, count, array_of_requests, array_of_statuses);
        many_begin(&many, way, count, array_of_requests, count, array_of_statuses);
        array_of_statuses = many.statuses;
    }
    if (way != WAITS)
        INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, flag, array_of_statuses);
    else
        INTERPOSE_CALL_FN_W_WWW(result, orig, count, array_of_requests, array_of_statuses);
    if (!outer) return result;
    if ((result == MPI_SUCCESS && (way == WAITS || *flag)) || result == MPI_ERR_IN_STATUS)
        for (int i = 0; i < many.n; i++) done(&many, i, i, result);
    many_end(&many);
    ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitall)(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    BEGIN(Waitall);
    return complete_all(call, outer, orig, count, array_of_requests, WAITS, NULL, array_of_statuses);
}

int IP_EXPORT IP_WRAPPER(PMPI_Testall)(int count, MPI_Request array_of_requests[], int *flag,
                                       MPI_Status array_of_statuses[]) {
    BEGIN(Testall);
    return complete_all(call, outer, orig, count, array_of_requests, TESTS, flag, array_of_statuses);
}

static int complete_any(struct ip_call *call, bool outer, InterposeOrigFn orig, int count,
                        const MPI_Request *array_of_requests, int *indx, enum way way, int *flag, MPI_Status *status) {
    struct many many;
    int result, index = MPI_UNDEFINED, *at = indx;
    if (outer) {
        IP_VALUE(count);
        IP_STORES(indx, 1);
        if (way != WAITS) IP_STORES(flag, 1);
        check_many(call, count, array_of_requests, NULL);
        IP_STORES(status, 1);
        many_begin(&many, way, count, array_of_requests, 1, status);
        status = many.statuses;
        /* An error may leave the program's as it was: not defined. */
        if (indx) at = &index;
    }
    if (way != WAITS)
        INTERPOSE_CALL_FN_W_5W(result, orig, count, array_of_requests, at, flag, status);
    else
        INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, at, status);
    if (!outer) return result;
    if (indx && (result == MPI_SUCCESS || index != MPI_UNDEFINED)) *indx = index;
    if (index != MPI_UNDEFINED && (result != MPI_SUCCESS || way == WAITS || *flag)) done(&many, index, 0, result);
    many_end(&many);
    ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitany)(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status) {
    BEGIN(Waitany);
    return complete_any(call, outer, orig, count, array_of_requests, indx, WAITS, NULL, status);
}

int IP_EXPORT IP_WRAPPER(PMPI_Testany)(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                                       MPI_Status *status) {
    BEGIN(Testany);
    return complete_any(call, outer, orig, count, array_of_requests, indx, TESTS, flag, status);
}

static int complete_some(struct ip_call *call, bool outer, InterposeOrigFn orig, enum way way, int incount,
                         const MPI_Request *array_of_requests, int *outcount, int *array_of_indices,
                         MPI_Status *array_of_statuses) {
    struct many many;
    int result;
    if (outer) {
        IP_VALUE(incount);
        IP_STORES(outcount, 1);
        IP_STORES(array_of_indices, incount);
        check_many(call, incount, array_of_requests, array_of_statuses);
        many_begin(&many, way, incount, array_of_requests, incount, array_of_statuses);
        array_of_statuses = many.statuses;
    }
    INTERPOSE_CALL_FN_W_5W(result, orig, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
    if (!outer) return result;
    if ((result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS) && *outcount != MPI_UNDEFINED)
        for (int i = 0; i < *outcount; i++) done(&many, array_of_indices[i], i, result);
    many_end(&many);
    ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitsome)(int incount, MPI_Request array_of_requests[], int *outcount,
                                        int array_of_indices[], MPI_Status array_of_statuses[]) {
    BEGIN(Waitsome);
    return complete_some(call, outer, orig, WAITS, incount, array_of_requests, outcount, array_of_indices,
                         array_of_statuses);
}

int IP_EXPORT IP_WRAPPER(PMPI_Testsome)(int incount, MPI_Request array_of_requests[], int *outcount,
                                        int array_of_indices[], MPI_Status array_of_statuses[]) {
    BEGIN(Testsome);
    return complete_some(call, outer, orig, TESTS, incount, array_of_requests, outcount, array_of_indices,
                         array_of_statuses);
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_get_status_all)(int count, const MPI_Request array_of_requests[], int *flag,
                                                      MPI_Status array_of_statuses[]) {
    BEGIN(Request_get_status_all);
    return complete_all(call, outer, orig, count, array_of_requests, LOOKS, flag, array_of_statuses);
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_get_status_any)(int count, const MPI_Request array_of_requests[], int *indx,
                                                      int *flag, MPI_Status *status) {
    BEGIN(Request_get_status_any);
    return complete_any(call, outer, orig, count, array_of_requests, indx, LOOKS, flag, status);
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_get_status_some)(int incount, const MPI_Request array_of_requests[],
                                                       int *outcount, int array_of_indices[],
                                                       MPI_Status array_of_statuses[]) {
    BEGIN(Request_get_status_some);
    return complete_some(call, outer, orig, LOOKS, incount, array_of_requests, outcount, array_of_indices,
                         array_of_statuses);
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_get_status)(MPI_Request request, int *flag, MPI_Status *status) {
    BEGIN(Request_get_status);
    MPI_Status own, *wanted = status;
    int result;
    if (outer) {
        IP_VALUE(request);
        IP_STORES(flag, 1);
        IP_STORES(status, 1);
        if (status == MPI_STATUS_IGNORE) wanted = &own;
    }
    INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, wanted);
    if (!outer) return result;
    if (result == MPI_SUCCESS && *flag) ip_request_peeked(IP_WORD(request), wanted);
    ip_leave(call);
    return result;
}

/* ---- what begins them, and ends them otherwise */

int IP_EXPORT IP_WRAPPER(PMPI_Start)(MPI_Request *request) {
    BEGIN(Start);
    int result;
    if (outer) {
        IP_READS(request, 1);
        if (request) ip_request_started(call, IP_WORD(*request));
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Startall)(int count, MPI_Request array_of_requests[]) {
    BEGIN(Startall);
    int result;
    if (outer) {
        IP_VALUE(count);
        IP_READS(array_of_requests, count);
        for (int i = 0; array_of_requests && i < count; i++) ip_request_started(call, IP_WORD(array_of_requests[i]));
    }
    INTERPOSE_CALL_FN_W_WW(result, orig, count, array_of_requests);
    if (outer) ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Cancel)(MPI_Request *request) {
    BEGIN(Cancel);
    int result;
    if (outer) {
        IP_READS(request, 1);
        if (request) ip_request_cancelled(IP_WORD(*request));
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) ip_leave(call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_free)(MPI_Request *request) {
    BEGIN(Request_free);
    int result;
    uintptr_t handle = 0;
    if (outer) {
        IP_READS(request, 1);
        if (request) handle = IP_WORD(*request);
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) {
        if (result == MPI_SUCCESS) ip_request_freed(handle);
        ip_leave(call);
    }
    return result;
}
