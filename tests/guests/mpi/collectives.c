/* Four ranks: collective operations, blocking and not, in place, over an intercommunicator, with neighbours. */
#include "common.h"

enum { N = 4, P = 4 };
static int *in, *out;

/* A hole in what that rank gives. */
static void fresh(int n_in, int hole_rank, int hole, int n_out) {
    free(in), free(out);
    in = rank == hole_rank ? but(n_in, hole) : ints(n_in, n_in);
    out = ints(n_out, 0);
}

static void rooted(void) {
    fresh(N, 1, 2, N);
    if (rank == 1)
        memcpy(out, in, N * sizeof *in);
    MPI_Bcast(out, N, MPI_INT, 1, COMM); // FINDS 1: Bcast
    use(out, rank == 1 ? 2 : N);
    fresh(N, 2, 3, N * P);
    MPI_Gather(in, N, MPI_INT, out, rank ? -1 : N, rank ? MPI_DATATYPE_NULL : MPI_INT, 0, COMM); // FINDS 2: Gather
    if (rank == 0)
        use(out, N * P);
    fresh(N * P, 3, 5, N);
    MPI_Scatter(in, N, MPI_INT, out, N, MPI_INT, 3, COMM); // FINDS 3: Scatter
    use(out, N);
    fresh(N, 0, 0, N);
    MPI_Reduce(in, out, N, MPI_INT, MPI_SUM, 2, COMM); // FINDS 0: Reduce
    if (rank == 2)
        use(out, N);
    int counts[P] = {1, 2, 3, 4}, places[P] = {0, 2, 5, 9};
    fresh(N, 3, 3, 13);
    MPI_Gatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, 1, COMM); // FINDS 3: Gatherv
    if (rank == 1)
        use(out, 1), use(out + 2, 2), use(out + 5, 3), use(out + 9, 4);
    fresh(13, 1, 1, N); /* a hole between the parts is nobody's */
    MPI_Scatterv(in, counts, places, MPI_INT, out, rank + 1, MPI_INT, 1, COMM);
    use(out, rank + 1);
    fresh(13, 1, 12, N);
    MPI_Scatterv(in, counts, places, MPI_INT, out, rank + 1, MPI_INT, 1, COMM); // FINDS 1: Scatterv
    use(out, rank + 1);
}

static void all(void) {
    int counts[P] = {1, 2, 3, 4}, places[P] = {0, 2, 5, 9}, ones[P] = {1, 1, 1, 1}, bytes[P] = {0, 4, 8, 12};
    MPI_Datatype types[P] = {MPI_INT, MPI_INT, MPI_INT, MPI_INT};
    fresh(N, 0, 1, N * P);
    MPI_Allgather(in, N, MPI_INT, out, N, MPI_INT, COMM); // FINDS 0: Allgather
    use(out, N * P);
    fresh(N, 1, 1, 13);
    MPI_Allgatherv(in, rank + 1, MPI_INT, out, counts, places, MPI_INT, COMM); // FINDS 1: Allgatherv
    use(out, 1), use(out + 9, 4);
    fresh(N * P, 2, 15, N * P);
    MPI_Alltoall(in, N, MPI_INT, out, N, MPI_INT, COMM); // FINDS 2: Alltoall
    use(out, N * P);
    fresh(13, 3, 0, N);
    MPI_Alltoallv(in, ones, places, MPI_INT, out, ones, (int[P]){0, 1, 2, 3}, MPI_INT, COMM); // FINDS 3: Alltoallv
    use(out, P);
    fresh(N, 0, 3, N);
    MPI_Alltoallw(in, ones, bytes, types, out, ones, bytes, types, COMM); // FINDS 0: Alltoallw
    use(out, P);
    fresh(N, 1, 0, N);
    MPI_Allreduce(in, out, N, MPI_INT, MPI_MAX, COMM); // FINDS 1: Allreduce
    use(out, N);
    fresh(10, 2, 9, N);
    MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, COMM); // FINDS 2: Reduce_scatter
    use(out, rank + 1);
    fresh(P, 3, 3, 1);
    MPI_Reduce_scatter_block(in, out, 1, MPI_INT, MPI_SUM, COMM); // FINDS 3: Reduce_scatter_block
    use(out, 1);
    fresh(N, 0, 0, N);
    MPI_Scan(in, out, N, MPI_INT, MPI_SUM, COMM); // FINDS 0: Scan
    use(out, N);
    fresh(N, 1, 0, N);
    MPI_Exscan(in, out, N, MPI_INT, MPI_SUM, COMM); // FINDS 1: Exscan
    if (rank)
        use(out, N);
    fresh(N, 2, 2, 0);
    int *other = ints(N, N);
    MPI_Reduce_local(in, other, N, MPI_INT, MPI_SUM); // FINDS 2: Reduce_local
    use(other, N);
    free(other);
}

static void in_place(void) {
    fresh(N, -1, 0, N * P);
    for (int i = 0; i < N; i++)
        if (rank != 1 || i != 2)
            out[rank * N + i] = i;
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, out, N, MPI_INT, COMM); // FINDS 1: Allgather
    use(out, N * P);
    fresh(N, 2, 1, 0);
    MPI_Allreduce(MPI_IN_PLACE, in, N, MPI_INT, MPI_SUM, COMM); // FINDS 2: Allreduce
    use(in, N);
    fresh(N, -1, 0, N * P);
    if (rank == 0)
        memcpy(out, in, 3 * sizeof *in);
    MPI_Gather(rank ? in : MPI_IN_PLACE, N, MPI_INT, out, N, MPI_INT, 0, COMM); // FINDS 0: Gather
    fresh(N * P, -1, 0, N);
    MPI_Scatter(in, N, MPI_INT, rank == 3 ? MPI_IN_PLACE : out, N, MPI_INT, 3, COMM);
    if (rank != 3)
        use(out, N);
    fresh(N * P, 3, 7, 0);
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, in, N, MPI_INT, COMM); // FINDS 3: Alltoall
    use(in, N * P);
    fresh(N, 1, 0, N);
    if (rank == 1)
        memcpy(out, in, N * sizeof *in);
    MPI_Reduce(rank == 1 ? MPI_IN_PLACE : in, out, N, MPI_INT, MPI_SUM, 1, COMM); // FINDS 1: Reduce
    fresh(10, 0, 9, 0);
    MPI_Reduce_scatter(MPI_IN_PLACE, in, (int[P]){1, 2, 3, 4}, MPI_INT, MPI_SUM, COMM); // FINDS 0: Reduce_scatter
    use(in, rank + 1);
}

static void nonblocking(void) {
    MPI_Request requests[4];
    int *values = ints(N, N), *sum = ints(N, 0), *early = ints(N, 0);
    fresh(N, 3, 3, N * P);
    if (rank == 0)
        memcpy(early, in, N * sizeof *in);
    MPI_Ibcast(early, N, MPI_INT, 0, COMM, &requests[0]);
    MPI_Iallgather(in, N, MPI_INT, out, N, MPI_INT, COMM, &requests[1]); // FINDS 3: Iallgather
    MPI_Iallreduce(values, sum, N, MPI_INT, MPI_SUM, COMM, &requests[2]);
    MPI_Ibarrier(COMM, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    use(early, N), use(out, N * P), use(sum, N);
    free(values), free(sum), free(early);
}

static void between_groups(void) {
    MPI_Comm half, inter;
    MPI_Comm_split(COMM, rank / 2, rank, &half);
    MPI_Intercomm_create(half, 0, COMM, rank < 2 ? 2 : 0, 7, &inter);
    fresh(N, 3, 1, N * 2);
    MPI_Allgather(in, N, MPI_INT, out, N, MPI_INT, inter); // FINDS 3: Allgather
    use(out, N * 2);
    fresh(N, 1, 0, N);
    int root = rank == 1 ? MPI_ROOT : rank == 0 ? MPI_PROC_NULL : 1;
    if (rank == 1)
        MPI_Bcast(in, N, MPI_INT, root, inter); // FINDS 1: Bcast
    else
        MPI_Bcast(out, N, MPI_INT, root, inter);
    if (rank > 1)
        use(out, N);
    fresh(N, 2, 0, N * 2);
    MPI_Gather(rank > 1 ? in : NULL, rank > 1 ? N : -1, MPI_INT, out, N, MPI_INT, // FINDS 2: Gather
               rank > 1 ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, inter);
    if (rank == 0)
        use(out, N * 2);
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
}

static void neighbours(void) {
    MPI_Comm ring, graph;
    int dims[1] = {P}, periods[1] = {0};
    MPI_Cart_create(COMM, 1, dims, periods, 0, &ring);
    fresh(N, 2, 2, N * 2);
    memset(out, 0, N * 2 * sizeof *out);
    MPI_Neighbor_allgather(in, N, MPI_INT, out, N, MPI_INT, ring); // FINDS 2: Neighbor_allgather
    use(out, N * 2);
    int to = (rank + 1) % P, from = (rank + P - 1) % P;
    MPI_Dist_graph_create_adjacent(COMM, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    fresh(N, 1, 3, N);
    MPI_Neighbor_alltoall(in, N, MPI_INT, out, N, MPI_INT, graph); // FINDS 1: Neighbor_alltoall
    use(out, N);
    int count = 2, place = 1;
    MPI_Aint bytes = 4;
    MPI_Datatype type = MPI_INT;
    MPI_Request request;
    fresh(N, 0, 2, N);
    MPI_Ineighbor_alltoallv(in, &count, &place, MPI_INT, out, &count, &place, MPI_INT, graph, &request); // FINDS 0: Ineighbor_alltoallv
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(out + 1, 2);
    fresh(N, 3, 1, N);
    MPI_Neighbor_alltoallw(in, &count, &bytes, &type, out, &count, &bytes, &type, graph); // FINDS 3: Neighbor_alltoallw
    use(out + 1, 2);
    MPI_Comm_free(&graph);

    /* A line as a graph: the inner two have two neighbours. */
    int ends[P] = {1, 3, 5, 6}, edges[6] = {1, 0, 2, 1, 3, 2}, n = rank == 0 || rank == 3 ? 1 : 2, twos[2] = {2, 2};
    int here[2] = {0, 2};
    MPI_Graph_create(COMM, P, ends, edges, 0, &graph);
    fresh(N, 2, 3, N);
    MPI_Neighbor_alltoallv(in, twos, here, MPI_INT, out, twos, here, MPI_INT, graph); // FINDS 2: Neighbor_alltoallv
    use(out, 2 * n);
    fresh(N, 3, 2, N); /* rank 3 sends to one neighbour, and the hole lies behind that */
    MPI_Ineighbor_alltoall(in, 2, MPI_INT, out, 2, MPI_INT, graph, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(out, 2 * n);
    if (n == 1 && out[2] == 12345) // FINDS 0 3: jump
        sink++;
    fresh(2, 1, 0, N);
    MPI_Ineighbor_allgather(in, 2, MPI_INT, out, 2, MPI_INT, graph, &request); // FINDS 1: Ineighbor_allgather
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(out, 2 * n);
    fresh(2, 0, 1, N);
    MPI_Neighbor_allgatherv(in, 2, MPI_INT, out, twos, here, MPI_INT, graph); // FINDS 0: Neighbor_allgatherv
    use(out, 2 * n);
    MPI_Comm_free(&ring);
    MPI_Comm_free(&graph);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    rooted();
    all();
    in_place();
    nonblocking();
    between_groups();
    neighbours();
    MPI_Finalize();
    return 0;
}
