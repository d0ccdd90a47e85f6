/* Two ranks: what MPI-4.0 added: partitions that are given and come one by one, large counts, persistent collectives. */
#include "common.h"
#include <sys/mman.h>

enum { PARTS = 4, EACH = 3, N = PARTS * EACH };

static void decide(int value) {
    if (value == 12345) // FINDS 1: jump
        sink++;
}

static void partitions(void) {
    MPI_Request request;
    if (rank == 0) {
        int *b = ints(N, 0), list[2] = {3, 2};
        MPI_Psend_init(b, PARTS, EACH, MPI_INT, 1, 1, COMM, MPI_INFO_NULL, &request);
        for (int round = 0; round < 2; round++) {
            MPI_Start(&request); /* nothing has to be there yet */
            for (int i = 0; i < N; i++)
                if (round || i != 4)
                    b[i] = i;
            MPI_Pready(0, request);
            MPI_Pready_range(1, 1, request); // FINDS 0: Pready_range
            if (round)
                b[10] = ints(1, 0)[0];
            MPI_Pready_list(2, list, request); // FINDS 0: Pready_list
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        }
    } else {
        int *b = ints(N, 0), flag;
        MPI_Precv_init(b, PARTS, EACH, MPI_INT, 0, 1, COMM, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        decide(b[0]);
        for (flag = 0; !flag;)
            MPI_Parrived(request, 2, &flag);
        use(b + 2 * EACH, EACH);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        use(b, N);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    MPI_Request_free(&request);
}

/* Two ints, 6 GB from each other. */
static void large(void) {
    MPI_Count many = N, far = 1500 * 1000 * 1000;
    MPI_Datatype apart;
    int *hole = rank == 0 ? but(N, 7) : ints(N, 0);
    char *map = mmap(NULL, 7ul << 30, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    MPI_Type_vector_c(2, 1, far, MPI_INT, &apart);
    MPI_Type_commit(&apart);
    int *second = (int *)(map + far * sizeof(int));
    if (rank == 0) {
        MPI_Send_c(hole, many, MPI_INT, 1, 2, COMM); // FINDS 0: Send_c
        *second = hole[7];
        MPI_Send(map, 1, apart, 1, 2, COMM); // FINDS 0: Send
    } else {
        MPI_Recv_c(hole, many, MPI_INT, 0, 2, COMM, MPI_STATUS_IGNORE);
        use(hole, N);
        *second = ints(1, 0)[0];
        MPI_Recv(map, 1, apart, 0, 2, COMM, MPI_STATUS_IGNORE);
        use(second, 1);
    }
    MPI_Type_free(&apart);
    munmap(map, 7ul << 30);
}

static void collectives(void) {
    MPI_Request request;
    int *in = ints(N, N), *out = ints(2 * N, 0);
    MPI_Allgather_init(in, N, MPI_INT, out, N, MPI_INT, COMM, MPI_INFO_NULL, &request);
    MPI_Start(&request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(out, 2 * N);
    if (rank == 1)
        in[3] = ints(1, 0)[0];
    MPI_Start(&request); // FINDS 1: Start
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Request_free(&request);
    MPI_Count counts[2] = {N, 1};
    MPI_Aint places[2] = {0, N};
    int *fresh = ints(2 * N, 0);
    MPI_Allgatherv_c(in, rank ? 1 : N, MPI_INT, fresh, counts, places, MPI_INT, COMM);
    use(fresh, N + 1);
    int *got = ints(N, 0), *whole = ints(N, rank ? N : N - 1);
    MPI_Isendrecv(whole, N, MPI_INT, 1 - rank, 5, got, N, MPI_INT, 1 - rank, 5, COMM, &request); // FINDS 0: Isendrecv
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(got, N);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    partitions();
    large();
    collectives();
    MPI_Finalize();
    return 0;
}
