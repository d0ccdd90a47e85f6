/* Random datatypes: which bytes the wrappers check and make defined, against those that MPI_Unpack stores into.
 * Arguments: how many, the seed. One rank is enough. Long doubles are left out: libraries copy their padding, too. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

enum { HALF = 1 << 17, LIMIT = 20000 };
static unsigned long long state;

static unsigned below(unsigned n) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(state >> 33) % n;
}

static MPI_Datatype named(void) {
    static MPI_Datatype all[] = {MPI_CHAR, MPI_SHORT, MPI_INT, MPI_DOUBLE, MPI_LONG_LONG, MPI_FLOAT, MPI_BYTE,
                                 MPI_DOUBLE_INT, MPI_SHORT_INT, MPI_LONG_INT, MPI_FLOAT_INT, MPI_2INT,
                                 MPI_C_DOUBLE_COMPLEX, MPI_C_BOOL};
    return all[below(sizeof all / sizeof *all)];
}

static MPI_Aint extent_of(MPI_Datatype t) {
    MPI_Aint lb, extent;
    MPI_Type_get_extent(t, &lb, &extent);
    return extent;
}

/* In `made`: those to be freed. */
static MPI_Datatype made[100];
static int n_made;

static MPI_Datatype keep(MPI_Datatype t) {
    return made[n_made++] = t;
}

static MPI_Datatype type(int depth) {
    MPI_Datatype child, t;
    int n = 1 + below(4), lengths[4], places[4], sizes[3], parts[3], starts[3], kinds[3], args[3], procs[3];
    MPI_Aint at[4], e, next = 0;
    MPI_Datatype types[4];
    if (depth == 0)
        return named();
    child = type(depth - 1);
    e = extent_of(child);
    for (int i = 0; i < n; i++) {
        lengths[i] = below(3);
        places[i] = i * 4 + below(2) * (i + 1) - 2;
        at[i] = (MPI_Aint)places[i] * e + below(2) * 8;
    }
    switch (below(12)) {
    case 0:
        MPI_Type_contiguous(below(5), child, &t);
        break;
    case 1:
        MPI_Type_vector(n, 1 + below(3), (int)below(9) - 3, child, &t);
        break;
    case 2:
        MPI_Type_create_hvector(n, 1 + below(2), (MPI_Aint)(e * 3 + 8 * below(4)), child, &t);
        break;
    case 3:
        MPI_Type_indexed(n, lengths, places, child, &t);
        break;
    case 4:
        MPI_Type_create_hindexed(n, lengths, at, child, &t);
        break;
    case 5:
        MPI_Type_create_indexed_block(n, 2, places, child, &t);
        break;
    case 6:
        MPI_Type_create_hindexed_block(n, 1, at, child, &t);
        break;
    case 7:
        for (int i = 0; i < n; i++) {
            types[i] = i ? named() : child;
            at[i] = next + 16 * below(2);
            next = at[i] + 3 * (extent_of(types[i]) + 16);
        }
        MPI_Type_create_struct(n, lengths, at, types, &t);
        break;
    case 8:
        n = n > 3 ? 3 : n;
        for (int i = 0; i < n; i++) {
            sizes[i] = 1 + below(5);
            parts[i] = 1 + below(sizes[i]);
            starts[i] = below(sizes[i] - parts[i] + 1);
        }
        MPI_Type_create_subarray(n, sizes, parts, starts, below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child, &t);
        break;
    case 9: {
        int size = 1;
        n = n > 2 ? 2 : n;
        for (int i = 0; i < n; i++) {
            sizes[i] = 1 + below(7);
            procs[i] = 1 + below(3);
            size *= procs[i];
            switch (below(3)) {
            case 0:
                kinds[i] = MPI_DISTRIBUTE_NONE, size /= procs[i], procs[i] = 1, args[i] = MPI_DISTRIBUTE_DFLT_DARG;
                break;
            case 1:
                kinds[i] = MPI_DISTRIBUTE_BLOCK, args[i] = MPI_DISTRIBUTE_DFLT_DARG;
                break;
            default:
                kinds[i] = MPI_DISTRIBUTE_CYCLIC, args[i] = below(2) ? MPI_DISTRIBUTE_DFLT_DARG : 1 + (int)below(3);
            }
        }
        /* Open MPI refuses some that are right. */
        if (MPI_Type_create_darray(size, below(size), n, sizes, kinds, args, procs,
                                   below(2) ? MPI_ORDER_C : MPI_ORDER_FORTRAN, child, &t) != MPI_SUCCESS)
            MPI_Type_dup(child, &t);
        break;
    }
    case 10:
        MPI_Type_dup(child, &t);
        break;
    default:
        MPI_Type_create_resized(child, -(MPI_Aint)below(9), e + below(40), &t);
    }
    return keep(t);
}

static int wrong;

static void check(int number) {
    static char zero[2 * HALF], mask[2 * HALF], bits[2 * HALF];
    MPI_Datatype t;
    MPI_Aint lb, extent, low, span;
    int size, packed_size, position = 0, count = 1 + below(3);
    do {
        for (int i = n_made; i-- > 0;)
            MPI_Type_free(&made[i]);
        n_made = 0;
        t = type(1 + below(4));
        MPI_Type_size(t, &size);
        MPI_Type_get_true_extent(t, &low, &span);
        MPI_Type_get_extent(t, &lb, &extent);
    } while (size > LIMIT || span > LIMIT || low < -LIMIT || low > LIMIT || labs(extent) > LIMIT);
    if (t == made[n_made - 1])
        MPI_Type_commit(&t);
    MPI_Pack_size(count, t, MPI_COMM_SELF, &packed_size);
    char *packed = malloc(packed_size + 1);
    memset(packed, 0xff, packed_size + 1);
    memset(mask, 0, sizeof mask);
    MPI_Unpack(packed, packed_size, &position, mask + HALF, count, t, MPI_COMM_SELF);

    /* What arrives: exactly the data is defined. */
    VALGRIND_MAKE_MEM_UNDEFINED(zero, sizeof zero);
    position = 0;
    MPI_Unpack(packed, packed_size, &position, zero + HALF, count, t, MPI_COMM_SELF);
    VALGRIND_GET_VBITS(zero, bits, sizeof bits);
    VALGRIND_MAKE_MEM_DEFINED(bits, sizeof bits);
    for (int i = 0; i < 2 * HALF; i++)
        if ((bits[i] == 0) != (mask[i] != 0)) {
            printf("type %d: byte %d is %sdefined, and data: %d\n", number, i - HALF, bits[i] ? "un" : "", mask[i]);
            wrong++;
            break;
        }

    /* What is sent: the data is enough, and each byte of it counts. */
    for (int i = 0; i < 2 * HALF; i++)
        if (mask[i])
            zero[i] = 0;
        else
            VALGRIND_MAKE_MEM_UNDEFINED(zero + i, 1);
    int before = VALGRIND_COUNT_ERRORS;
    position = 0;
    MPI_Pack(zero + HALF, count, t, packed, packed_size, &position, MPI_COMM_SELF);
    if (VALGRIND_COUNT_ERRORS != before) {
        printf("type %d: more is checked than data\n", number);
        wrong++;
    }
    int data = 0, chosen = -1;
    for (int i = 0; i < 2 * HALF; i++)
        if (mask[i] && below(++data) == 0)
            chosen = i;
    if (chosen >= 0) {
        VALGRIND_MAKE_MEM_UNDEFINED(zero + chosen, 1);
        before = VALGRIND_COUNT_ERRORS;
        position = 0;
        MPI_Pack(zero + HALF, count, t, packed, packed_size, &position, MPI_COMM_SELF);
        if (VALGRIND_COUNT_ERRORS == before) {
            printf("type %d: byte %d is not checked\n", number, chosen - HALF);
            wrong++;
        }
    }
    free(packed);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    state = strtoull(argv[2], NULL, 0);
    for (int i = 0; i < atoi(argv[1]); i++)
        check(i);
    for (int i = n_made; i-- > 0;)
        MPI_Type_free(&made[i]);
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return wrong != 0;
}
