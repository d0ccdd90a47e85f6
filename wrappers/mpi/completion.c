/* Wrappers of the functions by which requests begin, complete, and go. */
#include <string.h>

#include "mpiwrap.h"

#define BEGIN(name)                                                                                                    \
    InterposeOrigFn orig;                                                                                              \
    struct ip_call call;                                                                                               \
    int result;                                                                                                        \
    INTERPOSE_GET_ORIG_FN(orig);                                                                                       \
    bool outer = ip_enter(&call, "MPI_" #name, __builtin_return_address(0), __builtin_frame_address(0))

/* Handles and statuses of a call: those before it, and statuses also where the program wants none. */
struct many {
    int n;
    uintptr_t *handles, few_handles[16];
    MPI_Status *statuses, *own, few_statuses[16];
};

static void many_begin(struct many *many, int n, const MPI_Request *requests, MPI_Status *statuses) {
    many->n = n = n > 0 && requests ? n : 0;
    bool is_few = (size_t)n <= IP_COUNT_OF(many->few_handles);
    many->handles = is_few ? many->few_handles : ip_alloc(sizeof *many->handles * (size_t)n);
    many->own = NULL;
    for (int i = 0; i < n; i++) many->handles[i] = IP_WORD(requests[i]);
    INTERPOSE_MAKE_MEM_DEFINED(many->handles, sizeof *many->handles * (size_t)n);
    if (statuses == MPI_STATUSES_IGNORE || statuses == MPI_STATUS_IGNORE) {
        many->own = is_few ? many->few_statuses : ip_alloc(sizeof *many->own * (size_t)n);
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
    if (request >= 0 && request < many->n) ip_request_done(many->handles[request], which);
}

/* Statuses are written for each request, so that there has to be room for them. */
static void check_many(struct ip_call call, int n, const MPI_Request *array_of_requests,
                       MPI_Status *array_of_statuses) {
    IP_READS(array_of_requests, n);
    IP_STORES(array_of_statuses, n);
}

int IP_EXPORT IP_WRAPPER(PMPI_Wait)(MPI_Request *request, MPI_Status *status) {
    BEGIN(Wait);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WW(result, orig, request, status);
        return result;
    }
    struct many many;
    check_many(call, 1, request, status);
    many_begin(&many, 1, request, status);
    INTERPOSE_CALL_FN_W_WW(result, orig, request, many.statuses);
    done(&many, 0, 0, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Test)(MPI_Request *request, int *flag, MPI_Status *status) {
    BEGIN(Test);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, status);
        return result;
    }
    struct many many;
    check_many(call, 1, request, status);
    IP_STORES(flag, 1);
    many_begin(&many, 1, request, status);
    INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, many.statuses);
    if (result != MPI_SUCCESS || *flag) done(&many, 0, 0, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitall)(int count, MPI_Request array_of_requests[], MPI_Status array_of_statuses[]) {
    BEGIN(Waitall);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WWW(result, orig, count, array_of_requests, array_of_statuses);
        return result;
    }
    struct many many;
    IP_VALUE(count);
    check_many(call, count, array_of_requests, array_of_statuses);
    many_begin(&many, count, array_of_requests, array_of_statuses);
    INTERPOSE_CALL_FN_W_WWW(result, orig, count, array_of_requests, many.statuses);
    if (result == MPI_SUCCESS || result == MPI_ERR_IN_STATUS)
        for (int i = 0; i < many.n; i++) done(&many, i, i, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Testall)(int count, MPI_Request array_of_requests[], int *flag,
                                       MPI_Status array_of_statuses[]) {
    BEGIN(Testall);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, flag, array_of_statuses);
        return result;
    }
    struct many many;
    IP_VALUE(count);
    IP_STORES(flag, 1);
    check_many(call, count, array_of_requests, array_of_statuses);
    many_begin(&many, count, array_of_requests, array_of_statuses);
    INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, flag, many.statuses);
    if ((result == MPI_SUCCESS && *flag) || result == MPI_ERR_IN_STATUS)
        for (int i = 0; i < many.n; i++) done(&many, i, i, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitany)(int count, MPI_Request array_of_requests[], int *indx, MPI_Status *status) {
    BEGIN(Waitany);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, indx, status);
        return result;
    }
    struct many many;
    IP_VALUE(count);
    IP_STORES(indx, 1);
    check_many(call, count, array_of_requests, NULL);
    many_begin(&many, count, array_of_requests, status);
    MPI_Status own, *wanted = status == MPI_STATUS_IGNORE ? &own : status;
    INTERPOSE_CALL_FN_W_WWWW(result, orig, count, array_of_requests, indx, wanted);
    many.statuses = wanted;
    if (*indx != MPI_UNDEFINED) done(&many, *indx, 0, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Testany)(int count, MPI_Request array_of_requests[], int *indx, int *flag,
                                       MPI_Status *status) {
    BEGIN(Testany);
    if (!outer) {
        INTERPOSE_CALL_FN_W_5W(result, orig, count, array_of_requests, indx, flag, status);
        return result;
    }
    struct many many;
    IP_VALUE(count);
    IP_STORES(indx, 1);
    IP_STORES(flag, 1);
    check_many(call, count, array_of_requests, NULL);
    many_begin(&many, count, array_of_requests, status);
    MPI_Status own, *wanted = status == MPI_STATUS_IGNORE ? &own : status;
    INTERPOSE_CALL_FN_W_5W(result, orig, count, array_of_requests, indx, flag, wanted);
    many.statuses = wanted;
    if ((result != MPI_SUCCESS || *flag) && *indx != MPI_UNDEFINED) done(&many, *indx, 0, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

static void some_done(const struct many *many, int outcount, const int *indices, int result) {
    if (result != MPI_SUCCESS && result != MPI_ERR_IN_STATUS) return;
    for (int i = 0; outcount != MPI_UNDEFINED && i < outcount; i++) done(many, indices[i], i, result);
}

int IP_EXPORT IP_WRAPPER(PMPI_Waitsome)(int incount, MPI_Request array_of_requests[], int *outcount,
                                        int array_of_indices[], MPI_Status array_of_statuses[]) {
    BEGIN(Waitsome);
    if (!outer) {
        INTERPOSE_CALL_FN_W_5W(result, orig, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
        return result;
    }
    struct many many;
    IP_VALUE(incount);
    IP_STORES(outcount, 1);
    IP_STORES(array_of_indices, incount);
    check_many(call, incount, array_of_requests, array_of_statuses);
    many_begin(&many, incount, array_of_requests, array_of_statuses);
    INTERPOSE_CALL_FN_W_5W(result, orig, incount, array_of_requests, outcount, array_of_indices, many.statuses);
    some_done(&many, *outcount, array_of_indices, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Testsome)(int incount, MPI_Request array_of_requests[], int *outcount,
                                        int array_of_indices[], MPI_Status array_of_statuses[]) {
    BEGIN(Testsome);
    if (!outer) {
        INTERPOSE_CALL_FN_W_5W(result, orig, incount, array_of_requests, outcount, array_of_indices, array_of_statuses);
        return result;
    }
    struct many many;
    IP_VALUE(incount);
    IP_STORES(outcount, 1);
    IP_STORES(array_of_indices, incount);
    check_many(call, incount, array_of_requests, array_of_statuses);
    many_begin(&many, incount, array_of_requests, array_of_statuses);
    INTERPOSE_CALL_FN_W_5W(result, orig, incount, array_of_requests, outcount, array_of_indices, many.statuses);
    some_done(&many, *outcount, array_of_indices, result);
    many_end(&many);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_get_status)(MPI_Request request, int *flag, MPI_Status *status) {
    BEGIN(Request_get_status);
    if (!outer) {
        INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, status);
        return result;
    }
    IP_VALUE(request);
    IP_STORES(flag, 1);
    IP_STORES(status, 1);
    MPI_Status own, *wanted = status == MPI_STATUS_IGNORE ? &own : status;
    INTERPOSE_CALL_FN_W_WWW(result, orig, request, flag, wanted);
    if (result == MPI_SUCCESS && *flag) ip_request_peeked(IP_WORD(request), wanted);
    ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Start)(MPI_Request *request) {
    BEGIN(Start);
    if (outer) {
        IP_READS(request, 1);
        ip_request_started(&call, IP_WORD(*request));
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Startall)(int count, MPI_Request array_of_requests[]) {
    BEGIN(Startall);
    if (outer) {
        IP_VALUE(count);
        IP_READS(array_of_requests, count);
        for (int i = 0; i < count; i++) ip_request_started(&call, IP_WORD(array_of_requests[i]));
    }
    INTERPOSE_CALL_FN_W_WW(result, orig, count, array_of_requests);
    if (outer) ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Cancel)(MPI_Request *request) {
    BEGIN(Cancel);
    if (outer) {
        IP_READS(request, 1);
        ip_request_cancelled(IP_WORD(*request));
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) ip_leave(&call);
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Request_free)(MPI_Request *request) {
    BEGIN(Request_free);
    uintptr_t handle = 0;
    if (outer) {
        IP_READS(request, 1);
        handle = IP_WORD(*request);
    }
    INTERPOSE_CALL_FN_W_W(result, orig, request);
    if (outer) {
        if (result == MPI_SUCCESS) ip_request_freed(handle);
        ip_leave(&call);
    }
    return result;
}
