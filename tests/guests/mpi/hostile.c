/* Two ranks: very many requests and types, deep types, errors that are returned, handlers and operations that call MPI
 * and leave it by longjmp. */
#include "common.h"
#include <setjmp.h>

enum { MANY = 60000 };
static jmp_buf escape;

static void leave(MPI_Comm *comm, int *code, ...) {
    longjmp(escape, 1);
}

static void sum(void *in, void *out, int *n, MPI_Datatype *type) {
    int size_of_world;
    MPI_Comm_size(COMM, &size_of_world);
    for (int i = 0; i < *n; i++)
        ((int *)out)[i] += ((int *)in)[i];
}

static void decide(int value) {
    if (value == 12345) // FINDS 1: jump
        sink++;
}

static void many_requests(void) {
    MPI_Request *requests = malloc(2 * MANY * sizeof *requests);
    int *b = ints(MANY, MANY), *r = ints(MANY, 0);
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(r + i, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[i]);
    for (int i = 0; i < MANY; i++)
        MPI_Isend(b + i, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &requests[MANY + i]);
    MPI_Waitall(2 * MANY, requests, MPI_STATUSES_IGNORE);
    use(r, MANY);
    free(requests), free(b), free(r);
}

static void types(void) {
    MPI_Datatype type, deeper;
    for (int i = 0; i < 2000; i++) {
        MPI_Type_vector(i + 1, 1, 2, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_free(&type);
    }
    int *b = ints(4, 0);
    b[0] = b[2] = 1;
    MPI_Type_vector(2, 1, 2, MPI_INT, &type);
    for (int i = 0; i < 300; i++) {
        int length = 1;
        MPI_Aint at = 0;
        i % 2 ? MPI_Type_contiguous(1, type, &deeper) : MPI_Type_create_struct(1, &length, &at, &type, &deeper);
        MPI_Type_free(&type);
        type = deeper;
    }
    MPI_Type_commit(&type);
    MPI_Sendrecv(b, 1, type, 0, 0, b + 1, 1, type, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE);
    use(b, 4);
    MPI_Type_free(&type);
    free(b);
}

static void errors(void) {
    int *b = ints(4, 4), *r = ints(4, 0), code;
    MPI_Comm comm;
    MPI_Errhandler handler;
    MPI_Comm_dup(COMM, &comm);
    MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
    if (rank == 0) {
        MPI_Send(b, 4, MPI_INT, 1, 1, comm);
        MPI_Send(b, 4, MPI_INT, 1, 2, comm);
    } else {
        code = MPI_Recv(r, 2, MPI_INT, 0, 1, comm, MPI_STATUS_IGNORE);
        if (code == MPI_SUCCESS)
            printf("not truncated\n");
        decide(r[3]);
        MPI_Recv(r, 4, MPI_INT, 0, 2, comm, MPI_STATUS_IGNORE);
        use(r, 4);
    }
    MPI_Comm_create_errhandler(leave, &handler);
    MPI_Comm_set_errhandler(comm, handler);
    int hole[2];
    if (setjmp(escape) == 0)
        MPI_Send(b, 1, MPI_INT, 1000, 1, comm);
    else
        MPI_Sendrecv(but(2, 1), 2, MPI_INT, rank, 0, hole, 2, MPI_INT, rank, 0, COMM, MPI_STATUS_IGNORE); // FINDS 0 1: Sendrecv
    MPI_Errhandler_free(&handler);
    MPI_Comm_free(&comm);
    free(b), free(r);
}

static void callbacks(void) {
    MPI_Op op;
    int *b = ints(4, 4), *r = ints(4, 0);
    MPI_Op_create(sum, 1, &op);
    MPI_Allreduce(b, r, 4, MPI_INT, op, COMM);
    use(r, 4);
    MPI_Op_free(&op);
    free(b), free(r);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    many_requests();
    types();
    errors();
    callbacks();
    MPI_Finalize();
    return 0;
}
