/* Two ranks: windows. What is fetched is defined when it is synchronised; so is what others stored. */
#include "common.h"

enum { N = 8 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Win win;
    int *base = ints(N, 0), *b = ints(N, 4), *got = ints(N, 0);
    for (int i = 0; i < N / 2; i++)
        base[i] = i;
    MPI_Win_create(base, N * sizeof *base, sizeof *base, MPI_INFO_NULL, COMM, &win);
    MPI_Win_fence(0, win);
    if (rank == 0) {
        MPI_Put(b, 4, MPI_INT, 1, 4, 4, MPI_INT, win);
        MPI_Put(b, 5, MPI_INT, 1, 4, 4, MPI_BYTE, win); // FINDS 0: Put
        MPI_Put(b, 0, MPI_INT, MPI_PROC_NULL, 0, 4, MPI_INT, win);
    }
    MPI_Win_fence(0, win);
    if (rank == 1)
        use(base, N);
    if (rank == 0)
        MPI_Get(got, 4, MPI_INT, 1, 0, 4, MPI_INT, win);
    MPI_Win_fence(0, win);
    if (rank == 0)
        use(got, 4);
    MPI_Barrier(COMM);
    if (rank == 1) {
        MPI_Request request;
        free(got);
        got = ints(N, 0);
        MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win);
        MPI_Get(got, 2, MPI_INT, 0, 0, 2, MPI_INT, win);
        MPI_Win_flush(0, win);
        use(got, 2);
        MPI_Rget(got + 2, 2, MPI_INT, 0, 2, 2, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        use(got + 2, 2);
        MPI_Accumulate(b, 4, MPI_INT, 0, 0, 4, MPI_INT, MPI_SUM, win);
        MPI_Accumulate(b + 3, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_SUM, win); // FINDS 1: Accumulate
        MPI_Fetch_and_op(b, got + 4, MPI_INT, 0, 0, MPI_SUM, win);
        MPI_Fetch_and_op(NULL, got + 5, MPI_INT, 0, 0, MPI_NO_OP, win);
        MPI_Compare_and_swap(b, b + 6, got + 6, MPI_INT, 0, 1, win); // FINDS 1: Compare_and_swap
        MPI_Get_accumulate(b, 1, MPI_INT, got + 7, 1, MPI_INT, 0, 2, 1, MPI_INT, MPI_SUM, win);
        MPI_Win_unlock(0, win);
        use(got, 8);
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
        MPI_Rput(b, 4, MPI_INT, 0, 4, 4, MPI_INT, win, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Win_unlock(0, win);
    }
    MPI_Barrier(COMM);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    use(base, N);
    MPI_Win_unlock(rank, win);
    int *small = ints(2, 0);
    MPI_Win_lock(MPI_LOCK_SHARED, 1 - rank, 0, win);
    if (rank == 0)
        MPI_Get(small, 1, MPI_INT, 1, 0, 1, MPI_INT, win);
    MPI_Win_unlock(1 - rank, win);
    if (rank == 0 && small[1] == 12345) // FINDS 0: jump
        sink++;
    MPI_Win_free(&win);
    free(base), free(b), free(got), free(small);
    int *shared;
    MPI_Win_allocate(N * sizeof *shared, sizeof *shared, MPI_INFO_NULL, COMM, &shared, &win);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < N; i++)
        shared[i] = i;
    MPI_Win_sync(win);
    MPI_Barrier(COMM);
    int value;
    MPI_Get(&value, 1, MPI_INT, 1 - rank, 3, 1, MPI_INT, win);
    MPI_Win_flush_local_all(win);
    use(&value, 1);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    MPI_Finalize();
    return 0;
}
