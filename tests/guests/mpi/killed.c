/* Three ranks: rank 1 is killed from outside, and the others go on with each other. */
#include "common.h"
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int *b = ints(4, 3);
    MPI_Barrier(COMM);
    if (rank == 1) {
        system("kill -9 $PPID"); /* not by itself: a report comes before that */
        return 1;
    }
    if (rank == 0)
        MPI_Send(b, 4, MPI_INT, 2, 1, COMM); // FINDS 0: Send
    else
        MPI_Recv(b, 4, MPI_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
    printf("rank %d went on\n", rank);
    fflush(stdout);
    /* MPI_Finalize would wait for all. */
    _exit(0);
}
