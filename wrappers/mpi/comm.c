/* Who takes part in a collective operation, and how many blocks its buffers have. */
#include "mpiwrap.h"

static bool is_inter(MPI_Comm comm) {
    int flag = 0;
    PMPI_Comm_test_inter(comm, &flag);
    return flag;
}

unsigned ip_part_of(MPI_Comm comm, int root) {
    if (comm == MPI_COMM_NULL) return 0;
    if (is_inter(comm)) return root == MPI_ROOT ? IP_ROOT : root == MPI_PROC_NULL ? 0 : IP_LEAF;
    return ip_rank(comm) == root ? IP_ROOT | IP_LEAF : IP_LEAF;
}

int ip_all(MPI_Comm comm) {
    int n = 0;
    if (comm == MPI_COMM_NULL) return 0;
    if (is_inter(comm))
        PMPI_Comm_remote_size(comm, &n);
    else
        PMPI_Comm_size(comm, &n);
    return n;
}

int ip_group(MPI_Comm comm) {
    int n = 0;
    if (comm != MPI_COMM_NULL) PMPI_Comm_size(comm, &n);
    return n;
}

int ip_rank(MPI_Comm comm) {
    int rank = -1;
    if (comm != MPI_COMM_NULL) PMPI_Comm_rank(comm, &rank);
    return rank;
}

int ip_cart_dims(MPI_Comm comm) {
    int kind = MPI_UNDEFINED, n = 0;
    if (comm == MPI_COMM_NULL) return 0;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) PMPI_Cartdim_get(comm, &n);
    return n;
}

static int neighbours(MPI_Comm comm, bool sources) {
    int kind = MPI_UNDEFINED, in = 0, out = 0, weighted;
    if (comm == MPI_COMM_NULL) return 0;
    PMPI_Topo_test(comm, &kind);
    if (kind == MPI_CART) {
        in = out = 2 * ip_cart_dims(comm);
    } else if (kind == MPI_GRAPH) {
        PMPI_Graph_neighbors_count(comm, ip_rank(comm), &in);
        out = in;
    } else if (kind == MPI_DIST_GRAPH) {
        PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted);
    }
    return sources ? in : out;
}

int ip_sources(MPI_Comm comm) { return neighbours(comm, true); }

int ip_destinations(MPI_Comm comm) { return neighbours(comm, false); }

MPI_Count ip_sum(const int *numbers, int n) {
    MPI_Count sum = 0;
    for (int i = 0; numbers && i < n; i++) sum += numbers[i];
    return sum;
}

MPI_Count ip_sum_wide(const MPI_Count *numbers, int n) {
    MPI_Count sum = 0;
    for (int i = 0; numbers && i < n; i++) sum += numbers[i];
    return sum;
}

MPI_Count ip_mine(const int *numbers, MPI_Comm comm) {
    int rank = ip_rank(comm);
    return numbers && rank >= 0 ? numbers[rank] : 0;
}

MPI_Count ip_mine_wide(const MPI_Count *numbers, MPI_Comm comm) {
    int rank = ip_rank(comm);
    return numbers && rank >= 0 ? numbers[rank] : 0;
}

MPI_Count ip_last(const int *numbers, int n) { return numbers && n > 0 ? numbers[n - 1] : 0; }
