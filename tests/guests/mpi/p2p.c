/* Two ranks: messages of the standard's chapter on point-to-point communication, with seeded errors. */
#include "common.h"

static void decide(int value) {
    if (value == 12345) // FINDS 1: jump
        sink++;
}

static void blocking(void) {
    if (rank == 0) {
        int *b = ints(10, 9);
        MPI_Send(b, 9, MPI_INT, 1, 1, COMM);
        MPI_Send(b, 10, MPI_INT, 1, 1, COMM); // FINDS 0: Send
        MPI_Ssend(b + 9, 1, MPI_INT, 1, 1, COMM); // FINDS 0: Ssend
        char buffer[4096 + MPI_BSEND_OVERHEAD];
        void *out;
        int size;
        MPI_Buffer_attach(buffer, sizeof buffer);
        MPI_Bsend(b, 10, MPI_INT, 1, 1, COMM); // FINDS 0: Bsend
        MPI_Buffer_detach(&out, &size);
        MPI_Send(b, 10, MPI_INT, MPI_PROC_NULL, 1, COMM);
        MPI_Send(b + 9, 0, MPI_INT, 1, 1, COMM);
        free(b);
    } else {
        int *b = ints(20, 0);
        MPI_Status status;
        int count;
        MPI_Recv(b, 20, MPI_INT, 0, 1, COMM, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        use(b, count);
        decide(b[9]);
        MPI_Recv(b, 20, MPI_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
        use(b, 10);
        MPI_Recv(b + 10, 1, MPI_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
        use(b, 11);
        MPI_Recv(b, 10, MPI_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
        MPI_Recv(b, 10, MPI_INT, MPI_PROC_NULL, 1, COMM, MPI_STATUS_IGNORE);
        MPI_Recv(b, 0, MPI_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
        int *small = ints(4, 4);
        MPI_Irecv(small, 5, MPI_INT, 0, 99, COMM, &(MPI_Request){0}); // FINDS 1: Irecv
        free(b);
    }
}

static void arguments(void) {
    int *wild = ints(3, 0);
    if (rank == 0) {
        int x = 1, undefined = wild[0];
        MPI_Send(&x, 1, MPI_INT, 1, undefined & 1023, COMM); // FINDS 0: Send
    } else {
        int x;
        MPI_Recv(&x, 1, MPI_INT, 0, MPI_ANY_TAG, COMM, MPI_STATUS_IGNORE);
        use(&x, 1);
        int *count = malloc(2);
        MPI_Comm_size(COMM, count); // FINDS 1: Comm_size
    }
    free(wild);
}

static void both_ways(void) {
    int *s = ints(4, rank == 0 ? 3 : 4), *r = ints(4, 0), other = 1 - rank;
    MPI_Sendrecv(s, 4, MPI_INT, other, 2, r, 4, MPI_INT, other, 2, COMM, MPI_STATUS_IGNORE); // FINDS 0: Sendrecv
    use(r, 4);
    MPI_Sendrecv_replace(s, 4, MPI_INT, other, 2, other, 2, COMM, MPI_STATUS_IGNORE); // FINDS 0: Sendrecv_replace
    use(s, 4);
    free(s), free(r);
}

static void packed(void) {
    int *b = ints(4, 3), position = 0, size;
    MPI_Pack_size(4, MPI_INT, COMM, &size);
    char *out = malloc(size);
    if (rank == 0) {
        MPI_Pack(b, 3, MPI_INT, out, size, &position, COMM);
        MPI_Send(out, position, MPI_PACKED, 1, 3, COMM);
        position = 0;
        MPI_Pack(b, 4, MPI_INT, out, size, &position, COMM); // FINDS 0: Pack
    } else {
        MPI_Recv(out, size, MPI_PACKED, 0, 3, COMM, MPI_STATUS_IGNORE);
        MPI_Unpack(out, size, &position, b, 3, MPI_INT, COMM);
        use(b, 3);
        char *fresh = malloc(size);
        position = 0;
        MPI_Unpack(fresh, size, &position, b, 3, MPI_INT, COMM); // FINDS 1: Unpack
    }
}

static void matched(void) {
    if (rank == 0) {
        int *b = ints(6, 6);
        MPI_Send(b, 6, MPI_INT, 1, 4, COMM);
        MPI_Send(b, 6, MPI_INT, 1, 4, COMM);
    } else {
        MPI_Message message;
        MPI_Status status;
        int n, flag = 0, *b;
        MPI_Mprobe(0, 4, COMM, &message, &status);
        MPI_Get_count(&status, MPI_INT, &n);
        b = ints(n, 0);
        MPI_Mrecv(b, n, MPI_INT, &message, MPI_STATUS_IGNORE);
        use(b, n);
        free(b);
        b = ints(n, 0);
        while (!flag)
            MPI_Improbe(0, 4, COMM, &flag, &message, &status);
        MPI_Request request;
        MPI_Imrecv(b, n, MPI_INT, &message, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        use(b, n);
        free(b);
    }
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    blocking();
    arguments();
    both_ways();
    packed();
    matched();
    MPI_Barrier(COMM);
    if (rank == 1 && argc > 1)
        abort();
    MPI_Finalize();
    return 0;
}
