/* Two ranks of four threads each, which talk in pairs; in each, one sends what is not set. */
#include "common.h"
#include <pthread.h>

enum { THREADS = 4, ROUNDS = 50 };

static void *talk(void *number) {
    int tag = (int)(long)number;
    for (int i = 0; i < ROUNDS; i++) {
        int *s = ints(8, 8), *r = ints(8, 0);
        MPI_Request requests[2];
        MPI_Datatype pair;
        MPI_Type_vector(4, 1, 2, MPI_INT, &pair);
        MPI_Type_commit(&pair);
        MPI_Irecv(r, 1, pair, 1 - rank, tag, COMM, &requests[0]);
        MPI_Isend(s, 1, pair, 1 - rank, tag, COMM, &requests[1]);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        MPI_Type_free(&pair);
        for (int k = 0; k < 8; k += 2)
            use(r + k, 1);
        free(s), free(r);
    }
    if (tag == 2 + rank) {
        int *b = but(3, 1);
        MPI_Send(b, 3, MPI_INT, MPI_PROC_NULL, tag, COMM);
        MPI_Ssend(b, 3, MPI_INT, rank, 99, COMM); // FINDS 0 1: Ssend
        free(b);
    } else if (tag == 0) {
        int r[3];
        MPI_Recv(r, 3, MPI_INT, rank, 99, COMM, MPI_STATUS_IGNORE);
        use(r, 3);
    }
    return NULL;
}

int main(int argc, char **argv) {
    int provided;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    if (provided < MPI_THREAD_MULTIPLE)
        return 77;
    MPI_Comm_rank(COMM, &rank);
    pthread_t threads[THREADS];
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, talk, (void *)i);
    for (int i = 0; i < THREADS; i++)
        pthread_join(threads[i], NULL);
    MPI_Finalize();
    return 0;
}
