#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, size;
static volatile int sink;
#define COMM MPI_COMM_WORLD

/* Decides by them: all have to be defined. */
static void use(const int *values, int n) {
    for (int i = 0; i < n; i++)
        if (values[i] == 12345)
            sink++;
}

/* n ints on the heap, of which the first `set` are set. */
static int *ints(int n, int set) {
    int *p = malloc((n ? n : 1) * sizeof *p);
    for (int i = 0; i < set; i++)
        p[i] = i;
    return p;
}

/* Ints in which the one of number `hole` is not set. */
static int *but(int n, int hole) {
    int *p = malloc(n * sizeof *p);
    for (int i = 0; i < n; i++)
        if (i != hole)
            p[i] = i;
    return p;
}

static void begin(int *argc, char ***argv) {
    MPI_Init(argc, argv);
    MPI_Comm_rank(COMM, &rank);
    MPI_Comm_size(COMM, &size);
}
