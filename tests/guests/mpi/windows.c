/* Two ranks: windows by post, start, complete and wait; dynamic and shared ones; operations with requests. */
#include "common.h"

enum { N = 8 };

static void active(void) {
    MPI_Win win;
    MPI_Group world, other;
    int *base = ints(N, 0), *b = ints(N, N - 1), *got = ints(N, 0), one = 1 - rank;
    MPI_Comm_group(COMM, &world);
    MPI_Group_incl(world, 1, &one, &other);
    MPI_Win_create(base, N * sizeof *base, sizeof *base, MPI_INFO_NULL, COMM, &win);
    for (int round = 0; round < 2; round++) {
        if (rank == 0) {
            MPI_Win_start(other, 0, win);
            MPI_Put(b, N, MPI_INT, 1, 0, N, MPI_INT, win); // FINDS 0: Put
            MPI_Win_complete(win);
        } else {
            int flag = 0;
            MPI_Win_post(other, 0, win);
            if (round)
                while (!flag)
                    MPI_Win_test(win, &flag);
            else
                MPI_Win_wait(win);
            use(base, N);
            free(b);
            b = ints(N, 0);
        }
    }
    /* And fetched by the other. */
    MPI_Barrier(COMM);
    if (rank == 1) {
        for (int i = 0; i < N; i++)
            base[i] = i;
        MPI_Win_post(other, 0, win);
        MPI_Win_wait(win);
    } else {
        MPI_Win_start(other, 0, win);
        MPI_Get(got, N - 1, MPI_INT, 1, 0, N - 1, MPI_INT, win);
        MPI_Win_complete(win);
        use(got, N - 1);
        if (got[N - 1] == 12345) // FINDS 0: jump
            sink++;
    }
    MPI_Win_free(&win);
    MPI_Group_free(&world), MPI_Group_free(&other);
    free(base), free(b), free(got);
}

static void dynamic(void) {
    MPI_Win win;
    MPI_Aint mine, theirs;
    int *early = ints(N, 0), *late = ints(N, 0), *b = ints(N, N);
    MPI_Win_create_dynamic(MPI_INFO_NULL, COMM, &win);
    MPI_Win_attach(win, early, N * sizeof *early);
    MPI_Win_attach(win, late, N * sizeof *late);
    MPI_Get_address(late, &mine);
    MPI_Sendrecv(&mine, 1, MPI_AINT, 1 - rank, 1, &theirs, 1, MPI_AINT, 1 - rank, 1, COMM, MPI_STATUS_IGNORE);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1 - rank, 0, win);
    MPI_Put(b, N, MPI_INT, 1 - rank, theirs, N, MPI_INT, win);
    MPI_Win_unlock(1 - rank, win);
    MPI_Barrier(COMM);
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    use(late, N);
    MPI_Win_unlock(rank, win);
    MPI_Win_detach(win, early);
    free(early);
    early = ints(N, 0); /* perhaps at the same address, and nobody's window any more */
    MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, win);
    MPI_Win_unlock(rank, win);
    if (early[1] == 12345) // FINDS 0 1: jump
        sink++;
    MPI_Win_detach(win, late);
    MPI_Win_free(&win);
    free(early), free(late), free(b);
}

static void shared(void) {
    MPI_Win win;
    MPI_Aint size;
    MPI_Request request;
    int *mine, *theirs, unit, *b = ints(2, 1), *got = ints(4, 0);
    MPI_Win_allocate_shared(N * sizeof *mine, sizeof *mine, MPI_INFO_NULL, COMM, &mine, &win);
    MPI_Win_shared_query(win, 1 - rank, &size, &unit, &theirs);
    MPI_Win_lock_all(0, win);
    for (int i = 0; i < N; i++)
        mine[i] = i;
    MPI_Win_sync(win);
    MPI_Barrier(COMM);
    MPI_Win_sync(win);
    use(theirs, size / unit);
    MPI_Barrier(COMM);
    MPI_Raccumulate(b, 1, MPI_INT, 1 - rank, 0, 1, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 1) {
        MPI_Raccumulate(b, 2, MPI_INT, 0, 0, 2, MPI_INT, MPI_SUM, win, &request); // FINDS 1: Raccumulate
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Rget_accumulate(b, 1, MPI_INT, got, 1, MPI_INT, 1 - rank, 4, 1, MPI_INT, MPI_SUM, win, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(got, 1);
    MPI_Win_unlock_all(win);
    MPI_Win_free(&win);
    free(b), free(got);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    active();
    dynamic();
    shared();
    if (argc > 1) {
        MPI_Win win;
        int x = 1;
        MPI_Win_create(&x, sizeof x, 1, MPI_INFO_NULL, COMM, &win); // LEFT 1 window: Win_create
    }
    MPI_Finalize();
    return 0;
}
