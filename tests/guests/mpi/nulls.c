/* One rank: null pointers and handles, counts that are none, ranks that nobody has.  It tells what the library answers to each. */
#include "common.h"

#define ASK(call) printf("%s: %d\n", #call, call != MPI_SUCCESS)

int main(int argc, char **argv) {
    begin(&argc, &argv);
    setlinebuf(stdout);
    MPI_Comm_set_errhandler(COMM, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    int x[4] = {0}, flag, n;
    MPI_Status status;
    MPI_Request request = MPI_REQUEST_NULL, *none = NULL;
    MPI_Comm comm = MPI_COMM_NULL;
    MPI_Datatype type = MPI_DATATYPE_NULL;
    ASK(MPI_Wait(&request, &status));
    ASK(MPI_Wait(none, &status));
    ASK(MPI_Test(none, &flag, &status));
    ASK(MPI_Test(&request, NULL, &status));
    ASK(MPI_Waitall(0, none, MPI_STATUSES_IGNORE));
    ASK(MPI_Waitall(3, none, MPI_STATUSES_IGNORE));
    ASK(MPI_Waitall(-1, &request, MPI_STATUSES_IGNORE));
    ASK(MPI_Testall(1, &request, NULL, MPI_STATUSES_IGNORE));
    ASK(MPI_Waitany(1, none, x, &status));
    ASK(MPI_Waitany(1, &request, NULL, &status));
    ASK(MPI_Testany(1, &request, x, NULL, &status));
    ASK(MPI_Waitsome(0, none, &n, x, MPI_STATUSES_IGNORE));
    ASK(MPI_Waitsome(1, none, &n, x, MPI_STATUSES_IGNORE));
    ASK(MPI_Testsome(1, &request, NULL, x, MPI_STATUSES_IGNORE));
    ASK(MPI_Start(none));
    ASK(MPI_Start(&request));
    ASK(MPI_Startall(1, none));
    ASK(MPI_Cancel(none));
    ASK(MPI_Request_free(none));
    ASK(MPI_Request_free(&request));
    ASK(MPI_Send(x, -5, MPI_INT, 0, 0, COMM));
    ASK(MPI_Send(x, 1, MPI_DATATYPE_NULL, 0, 0, COMM));
    ASK(MPI_Send(x, 1, MPI_INT, 0, 0, MPI_COMM_NULL));
    ASK(MPI_Send(NULL, 4, MPI_INT, 0, 0, COMM));
    ASK(MPI_Recv(x, 1, MPI_INT, 99, 0, COMM, &status));
    ASK(MPI_Isend(x, -1, MPI_INT, 0, 0, COMM, &request));
    ASK(MPI_Bcast(x, 4, MPI_INT, 77, COMM));
    ASK(MPI_Bcast(x, 4, MPI_INT, 0, MPI_COMM_NULL));
#ifdef MPICH_VERSION /* another one crashes */
    ASK(MPI_Comm_free(NULL));
#endif
    ASK(MPI_Comm_free(&comm));
    ASK(MPI_Type_free(&type));
    ASK(MPI_Type_contiguous(-1, MPI_INT, &type));
    ASK(MPI_Type_vector(1, 1, 1, MPI_DATATYPE_NULL, &type));
    MPI_Finalize();
    return 0;
}
