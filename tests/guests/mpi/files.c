/* Two ranks: a file, written and read in every way. */
#include "common.h"

enum { N = 8 };

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_File file;
    MPI_Status status;
    MPI_Request request;
    int *b = ints(N, N), *hole = but(N, 5), *r;
    MPI_Offset here = rank * N * sizeof(int);
    MPI_File_open(COMM, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL, &file);
    MPI_File_write_at(file, here, b, N, MPI_INT, &status);
    if (rank == 0)
        MPI_File_write_at(file, here, hole, N, MPI_INT, &status); // FINDS 0: File_write_at
    MPI_File_seek(file, here, MPI_SEEK_SET);
    MPI_File_write_all(file, rank == 1 ? hole : b, N, MPI_INT, MPI_STATUS_IGNORE); // FINDS 1: File_write_all
    MPI_File_iwrite_at(file, here, rank == 0 ? hole : b, N, MPI_INT, &request); // FINDS 0: File_iwrite_at
    MPI_Wait(&request, &status);
    MPI_File_write_at_all_begin(file, here, rank == 1 ? hole : b, N, MPI_INT); // FINDS 1: File_write_at_all_begin
    MPI_File_write_at_all_end(file, rank == 1 ? hole : b, &status);
    MPI_File_sync(file);
    MPI_Barrier(COMM);

    r = ints(N, 0);
    MPI_File_read_at(file, here, r, N, MPI_INT, MPI_STATUS_IGNORE);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_seek(file, here, MPI_SEEK_SET);
    MPI_File_read_all(file, r, N, MPI_INT, &status);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_iread_at(file, here, r, N, MPI_INT, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_read_at_all_begin(file, here, r, N, MPI_INT);
    MPI_File_read_at_all_end(file, r, MPI_STATUS_IGNORE);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_set_view(file, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL);
    MPI_File_read_ordered(file, r, 2, MPI_INT, &status);
    use(r, 2), free(r);
    r = ints(N, 0); /* at the end of the file less comes than there is room for */
    MPI_File_read_at(file, 2 * N - 2, r, N, MPI_INT, &status);
    use(r, 2);
    if (rank == 0 && r[2] == 12345) // FINDS 0: jump
        sink++;
    free(r);

    /* By the pointer that all share: first one rank after the other, then in an order that nobody knows. */
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    MPI_File_write_ordered_begin(file, rank == 0 ? hole : b, N, MPI_INT); // FINDS 0: File_write_ordered_begin
    MPI_File_write_ordered_end(file, rank == 0 ? hole : b, &status);
    MPI_File_write_ordered(file, rank == 1 ? hole : b, N, MPI_INT, &status); // FINDS 1: File_write_ordered
    MPI_File_write_shared(file, rank == 0 ? hole : b, N, MPI_INT, &status); // FINDS 0: File_write_shared
    MPI_File_iwrite_shared(file, rank == 1 ? hole : b, N, MPI_INT, &request); // FINDS 1: File_iwrite_shared
    MPI_Wait(&request, &status);
    MPI_Barrier(COMM);
    MPI_File_seek_shared(file, 0, MPI_SEEK_SET);
    r = ints(N, 0);
    MPI_File_read_ordered_begin(file, r, N, MPI_INT);
    MPI_File_read_ordered_end(file, r, MPI_STATUS_IGNORE);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_read_shared(file, r, N, MPI_INT, MPI_STATUS_IGNORE);
    use(r, N), free(r);
    r = ints(N, 0);
    MPI_File_iread_shared(file, r, N, MPI_INT, &request);
    MPI_Wait(&request, &status);
    use(r, N), free(r);

    /* Collective and not waited for; every second int. */
    MPI_Datatype every;
    MPI_Type_vector(N / 2, 1, 2, MPI_INT, &every);
    MPI_Type_commit(&every);
    MPI_File_seek(file, rank * N, MPI_SEEK_SET);
    MPI_File_iwrite_all(file, rank == 0 ? hole : b, N, MPI_INT, &request); // FINDS 0: File_iwrite_all
    MPI_Wait(&request, &status);
    MPI_File_iwrite_at_all(file, rank * N, hole, 1, every, &request);
    MPI_Wait(&request, &status);
    MPI_File_iwrite_at_all(file, rank * N, hole + 1, 1, every, &request); // FINDS 0 1: File_iwrite_at_all
    MPI_Wait(&request, &status);
    MPI_File_sync(file);
    MPI_Barrier(COMM);
    r = ints(N, 0);
    MPI_File_iread_at_all(file, rank * N, r, 1, every, &request);
    MPI_Wait(&request, &status);
    for (int i = 0; i < N; i += 2)
        use(r + i, 1);
    if (r[1] == 12345) // FINDS 0 1: jump
        sink++;
    free(r), r = ints(N, 0);
    MPI_File_seek(file, rank * N, MPI_SEEK_SET);
    MPI_File_iread_all(file, r, N, MPI_INT, &request);
    MPI_Wait(&request, &status);
    use(r, N), free(r), r = ints(N, 0);
    MPI_File_seek(file, rank * N, MPI_SEEK_SET);
    MPI_File_read_all_begin(file, r, N, MPI_INT);
    MPI_File_read_all_end(file, r, &status);
    use(r, N);
    MPI_Type_free(&every);
    free(r), free(b), free(hole);
    MPI_File_close(&file);
    MPI_Finalize();
    return 0;
}
