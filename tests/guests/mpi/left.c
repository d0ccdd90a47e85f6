/* Two ranks; rank 1 leaves behind what it made: the line of each says what and how many. */
#include "common.h"
#include <pthread.h>

static void copy(void *in, void *out, int *n, MPI_Datatype *type) {}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    MPI_Comm comm;
    MPI_Group group;
    MPI_Datatype type;
    MPI_Op op;
    MPI_Info info;
    MPI_Errhandler handler;
    MPI_Win win;
    MPI_Request request;
    MPI_File file;
    int x = 1, *memory;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_dup(COMM, &comm); // LEFT 3 communicators: Comm_dup
        if (rank == 0)
            MPI_Comm_free(&comm);
    }
    MPI_Comm_group(COMM, &group); // LEFT 1 group: Comm_group
    MPI_Type_contiguous(3, MPI_INT, &type); // LEFT 1 datatype: Type_contiguous
    MPI_Op_create(copy, 1, &op); // LEFT 1 operation: Op_create
    MPI_Info_create(&info); // LEFT 1 info object: Info_create
    MPI_Comm_create_errhandler((MPI_Comm_errhandler_function *)abort, &handler); // LEFT 1 error handler: Comm_create_errhandler
    MPI_Win_create(&x, 4, 1, MPI_INFO_NULL, COMM, &win); /* freed: MPICH aborts in MPI_Finalize otherwise */
    MPI_Win_free(&win);
    MPI_Alloc_mem(100, MPI_INFO_NULL, &memory); // LEFT 1 block of MPI_Alloc_mem: Alloc_mem
    MPI_File_open(MPI_COMM_SELF, "/dev/null", MPI_MODE_WRONLY, MPI_INFO_NULL, &file); // LEFT 1 file: File_open
    if (rank == 1) {
        MPI_Irecv(&x, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &request); // LEFT 1 request: Irecv
        MPI_Send_init(&x, 1, MPI_INT, 0, 1, COMM, &request); // LEFT 1 request: Send_init
    } else {
        MPI_Group_free(&group);
        MPI_Type_free(&type);
        MPI_Op_free(&op);
        MPI_Info_free(&info);
        MPI_Errhandler_free(&handler);
        MPI_Free_mem(memory);
        MPI_File_close(&file);
    }
    MPI_Finalize();
    return 0;
}
