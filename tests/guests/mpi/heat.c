/* Four ranks: heat in a plate, in blocks with halos: columns by a vector type, persistent requests, a file.
 * Arguments: the file; "bug": rank 2 does not set a cell of its first column. */
#include "common.h"

enum { NX = 24, NY = 20, STEPS = 12 };
static double (*now)[NY + 2], (*next)[NY + 2];

static double (*plate(void))[NY + 2] {
    double(*p)[NY + 2] = malloc((NX + 2) * sizeof *p);
    return p;
}

static void wait_for_halo(MPI_Request *requests) {
    MPI_Startall(8, requests); // BUG 2: Startall
    MPI_Waitall(8, requests, MPI_STATUSES_IGNORE);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    int dims[2] = {0, 0}, periods[2] = {1, 1}, up, down, left, right, bug = argc > 2 && rank == 2;
    MPI_Comm grid;
    MPI_Datatype column, inside;
    MPI_Request requests[2][8];
    MPI_Dims_create(size, 2, dims);
    MPI_Cart_create(COMM, 2, dims, periods, 0, &grid);
    MPI_Cart_shift(grid, 0, 1, &up, &down);
    MPI_Cart_shift(grid, 1, 1, &left, &right);
    MPI_Type_vector(NX, 1, NY + 2, MPI_DOUBLE, &column);
    MPI_Type_commit(&column);
    now = plate(), next = plate();
    for (int i = 1; i <= NX; i++)
        for (int j = 1; j <= NY; j++)
            if (!(bug && i == 7 && j == 1))
                now[i][j] = rank == 0 && i == 5 ? 100 : 0;
    for (int k = 0; k < 2; k++) {
        double(*p)[NY + 2] = k ? next : now;
        MPI_Send_init(&p[1][1], NY, MPI_DOUBLE, up, 0, grid, &requests[k][0]);
        MPI_Send_init(&p[NX][1], NY, MPI_DOUBLE, down, 1, grid, &requests[k][1]);
        MPI_Send_init(&p[1][1], 1, column, left, 2, grid, &requests[k][2]);
        MPI_Send_init(&p[1][NY], 1, column, right, 3, grid, &requests[k][3]);
        MPI_Recv_init(&p[NX + 1][1], NY, MPI_DOUBLE, down, 0, grid, &requests[k][4]);
        MPI_Recv_init(&p[0][1], NY, MPI_DOUBLE, up, 1, grid, &requests[k][5]);
        MPI_Recv_init(&p[1][NY + 1], 1, column, right, 2, grid, &requests[k][6]);
        MPI_Recv_init(&p[1][0], 1, column, left, 3, grid, &requests[k][7]);
    }
    for (int step = 0; step < STEPS; step++) {
        wait_for_halo(requests[step % 2]);
        if (step == 0 && bug)
            now[7][1] = 0; /* one report is enough */
        double change = 0, all;
        for (int i = 1; i <= NX; i++)
            for (int j = 1; j <= NY; j++) {
                next[i][j] = (now[i - 1][j] + now[i + 1][j] + now[i][j - 1] + now[i][j + 1]) / 4;
                change += next[i][j] > now[i][j] ? next[i][j] - now[i][j] : now[i][j] - next[i][j];
            }
        MPI_Allreduce(&change, &all, 1, MPI_DOUBLE, MPI_SUM, grid);
        if (all < 1e-9)
            break;
        double(*p)[NY + 2] = now;
        now = next, next = p;
    }
    int whole[2] = {NX + 2, NY + 2}, part[2] = {NX, NY}, first[2] = {1, 1};
    MPI_Type_create_subarray(2, whole, part, first, MPI_ORDER_C, MPI_DOUBLE, &inside);
    MPI_Type_commit(&inside);
    MPI_File file;
    MPI_File_open(grid, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, (MPI_Offset)rank * sizeof(double) * NX * NY, now, 1, inside, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    double sum = 0, total = 0;
    for (int i = 1; i <= NX; i++)
        for (int j = 1; j <= NY; j++)
            sum += now[i][j];
    MPI_Reduce(&sum, &total, 1, MPI_DOUBLE, MPI_SUM, 0, grid);
    if (rank == 0)
        printf("%.3f\n", total);
    for (int k = 0; k < 8; k++)
        MPI_Request_free(&requests[0][k]), MPI_Request_free(&requests[1][k]);
    MPI_Type_free(&column);
    MPI_Type_free(&inside);
    MPI_Comm_free(&grid);
    free(now), free(next);
    MPI_Finalize();
    return 0;
}
