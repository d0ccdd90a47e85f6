/* Two ranks: the loops of latency and bandwidth benchmarks; the window of the last size has a hole on rank 1. */
#include "common.h"

enum { WINDOW = 64, LARGEST = 1 << 16 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request requests[WINDOW];
    char *s = malloc(LARGEST), *r = malloc(LARGEST), ack;
    memset(s, 'a', LARGEST);
    for (int n = 1; n <= LARGEST; n *= 4) {
        for (int i = 0; i < 20; i++) {
            if (rank == 0) {
                MPI_Send(s, n, MPI_CHAR, 1, 1, COMM);
                MPI_Recv(r, n, MPI_CHAR, 1, 1, COMM, MPI_STATUS_IGNORE);
            } else {
                MPI_Recv(r, n, MPI_CHAR, 0, 1, COMM, MPI_STATUS_IGNORE);
                MPI_Send(s, n, MPI_CHAR, 0, 1, COMM);
            }
            if (r[0] != 'a' || r[n - 1] != 'a')
                return 1;
        }
        if (rank == 0) {
            char *many = malloc((size_t)n * WINDOW);
            for (int i = 0; i < WINDOW; i++)
                MPI_Irecv(many + (size_t)i * n, n, MPI_CHAR, 1, 100, COMM, &requests[i]);
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            for (int i = 0; n < LARGEST && i < WINDOW; i++)
                if (many[(size_t)i * n] != 'a')
                    return 1;
            free(many);
            MPI_Send(&ack, 0, MPI_CHAR, 1, 101, COMM);
        } else {
            if (n == LARGEST) {
                s = malloc(LARGEST);
                memset(s, 'a', LARGEST - 1);
            }
            for (int i = 0; i < WINDOW; i++)
                MPI_Isend(s, n, MPI_CHAR, 0, 100, COMM, &requests[i]); // FINDS 1: Isend
            MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
            MPI_Recv(&ack, 0, MPI_CHAR, 0, 101, COMM, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
