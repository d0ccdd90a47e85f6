/* Wrappers of the functions by which a process enters and leaves MPI, and those that no table knows. */
#include <stdio.h>

#include "mpiwrap.h"

int IP_EXPORT IP_WRAPPER(PMPI_Init)(int *argc, char ***argv) {
    InterposeOrigFn orig;
    struct ip_call call[1];
    int result;
    INTERPOSE_GET_ORIG_FN(orig);
    bool outer = ip_enter(call, "MPI_Init", __builtin_return_address(0), __builtin_frame_address(0));
    INTERPOSE_CALL_FN_W_WW(result, orig, argc, argv);
    if (outer) {
        if (result == MPI_SUCCESS) PMPI_Comm_rank(MPI_COMM_WORLD, &ip_world_rank);
        ip_leave(call);
    }
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Init_thread)(int *argc, char ***argv, int required, int *provided) {
    InterposeOrigFn orig;
    struct ip_call call[1];
    int result;
    INTERPOSE_GET_ORIG_FN(orig);
    bool outer = ip_enter(call, "MPI_Init_thread", __builtin_return_address(0), __builtin_frame_address(0));
    if (outer) {
        IP_VALUE(required);
        IP_STORES(provided, 1);
    }
    INTERPOSE_CALL_FN_W_WWWW(result, orig, argc, argv, required, provided);
    if (outer) {
        if (result == MPI_SUCCESS) PMPI_Comm_rank(MPI_COMM_WORLD, &ip_world_rank);
        ip_leave(call);
    }
    return result;
}

int IP_EXPORT IP_WRAPPER(PMPI_Finalize)(void) {
    InterposeOrigFn orig;
    struct ip_call call[1];
    int result;
    INTERPOSE_GET_ORIG_FN(orig);
    bool outer = ip_enter(call, "MPI_Finalize", __builtin_return_address(0), __builtin_frame_address(0));
    if (outer) {
        ip_tell_requests();
        ip_tell_leaks();
    }
    INTERPOSE_CALL_FN_W_v(result, orig);
    if (outer) ip_leave(call);
    return result;
}

/* A function that the library has and the table has not. */
void ip_unknown(const char *function, unsigned *times) {
    ip_start();
    if (ip_strict) {
        ip_say_where("error: %s has no wrapper; the program ends (MPIWRAP_DEBUG=strict)", function);
        PMPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (ip_warn && __atomic_fetch_add(times, 1, __ATOMIC_RELAXED) < 3)
        ip_say_where("warning: %s has no wrapper", function);
}
