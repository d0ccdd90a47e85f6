/* Two ranks: rank 0 gives buffers that overlap; the line of each says what the wrappers say of it. */
#include "common.h"

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Request request[3];
    int *b = ints(20, 20), other = 1 - rank;
    if (rank == 0) {
        MPI_Irecv(b, 8, MPI_INT, 1, 1, COMM, &request[0]);
        MPI_Irecv(b + 8, 4, MPI_INT, 1, 2, COMM, &request[1]);
        MPI_Irecv(b + 11, 2, MPI_INT, 1, 3, COMM, &request[2]); // SAYS MPI_Irecv: buf overlaps buf of MPI_Irecv
        MPI_Send(b + 4, 1, MPI_INT, 1, 4, COMM); // SAYS MPI_Send: buf overlaps buf of MPI_Irecv
        MPI_Send(b + 13, 1, MPI_INT, 1, 5, COMM);
        MPI_Waitall(3, request, MPI_STATUSES_IGNORE);
        MPI_Isend(b, 8, MPI_INT, 1, 6, COMM, &request[0]);
        MPI_Isend(b, 8, MPI_INT, 1, 6, COMM, &request[1]);
        MPI_Waitall(2, request, MPI_STATUSES_IGNORE);
    } else {
        for (int i = 1; i <= 3; i++)
            MPI_Send(b, 1, MPI_INT, 0, i, COMM);
        for (int i = 4; i <= 5; i++)
            MPI_Recv(b, 1, MPI_INT, 0, i, COMM, MPI_STATUS_IGNORE);
        for (int i = 0; i < 2; i++)
            MPI_Recv(b, 8, MPI_INT, 0, 6, COMM, MPI_STATUS_IGNORE);
    }
    int *place = rank == 0 ? b + 1 : b + 10;
    MPI_Sendrecv(b, 2, MPI_INT, other, 7, place, 2, MPI_INT, other, 7, COMM, MPI_STATUS_IGNORE); // SAYS MPI_Sendrecv: sendbuf and recvbuf overlap
    MPI_Sendrecv_replace(b, 2, MPI_INT, other, 7, other, 7, COMM, MPI_STATUS_IGNORE);
    MPI_Allreduce(MPI_IN_PLACE, b, 2, MPI_INT, MPI_SUM, COMM);
    MPI_Finalize();
    return 0;
}
