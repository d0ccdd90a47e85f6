/* Two ranks: requests to their completion, in every way. */
#include "common.h"

enum { N = 4, K = 3 };
static int *box[K];
static MPI_Request request[K];

static void send(int n) {
    int *b = ints(N, N);
    for (int i = 0; i < n; i++)
        MPI_Send(b, N, MPI_INT, 1, i, COMM);
    free(b);
}

static void post(void) {
    for (int i = 0; i < K; i++) {
        box[i] = ints(N + 1, 0);
        MPI_Irecv(box[i], N + 1, MPI_INT, 0, i, COMM, &request[i]);
    }
}

static void decide(int value) {
    if (value == 12345) // FINDS 1: jump
        sink++;
}

static void check(void) {
    for (int i = 0; i < K; i++) {
        use(box[i], N);
        free(box[i]);
    }
}

static void completions(void) {
    MPI_Status status, statuses[K];
    int index, indices[K], n, flag, left;
    for (int way = 0; way < 15; way++) {
        if (rank == 0) {
            send(K);
            continue;
        }
        post();
        switch (way) {
        case 0:
            for (int i = 0; i < K; i++)
                MPI_Wait(&request[i], i ? &status : MPI_STATUS_IGNORE);
            decide(box[0][N]); /* more room than message */
            break;
        case 1:
            MPI_Waitall(K, request, MPI_STATUSES_IGNORE);
            break;
        case 2:
            MPI_Waitall(K, request, statuses);
            break;
        case 3:
            for (int i = 0; i < K; i++)
                MPI_Waitany(K, request, &index, i ? &status : MPI_STATUS_IGNORE);
            MPI_Waitany(K, request, &index, MPI_STATUS_IGNORE);
            break;
        case 4:
            for (left = K; left; left -= n)
                MPI_Waitsome(K, request, &n, indices, MPI_STATUSES_IGNORE);
            break;
        case 5:
            for (left = K; left; left -= n)
                MPI_Testsome(K, request, &n, indices, statuses);
            break;
        case 6:
            for (int i = 0; i < K; i++)
                for (flag = 0; !flag;)
                    MPI_Test(&request[i], &flag, MPI_STATUS_IGNORE);
            break;
        case 7:
            for (flag = 0; !flag;)
                MPI_Testall(K, request, &flag, MPI_STATUSES_IGNORE);
            break;
        case 8:
            for (left = K; left;) {
                MPI_Testany(K, request, &index, &flag, &status);
                left -= flag && index != MPI_UNDEFINED;
            }
            break;
        case 9:
            for (int i = 0; i < K; i++) {
                for (flag = 0; !flag;)
                    MPI_Request_get_status(request[i], &flag, MPI_STATUS_IGNORE);
                use(box[i], N);
            }
            MPI_Waitall(K, request, MPI_STATUSES_IGNORE);
            break;
        case 10:
            for (int i = 0; i < K; i++) {
                MPI_Probe(0, i, COMM, &status);
                MPI_Wait(&request[i], &status);
            }
            break;
#if MPI_VERSION > 4 || MPI_VERSION == 4 && MPI_SUBVERSION >= 1
        case 12:
            for (flag = 0; !flag;)
                MPI_Request_get_status_all(K, request, &flag, MPI_STATUSES_IGNORE);
            for (int i = 0; i < K; i++)
                use(box[i], N);
            decide(box[0][N]);
            MPI_Waitall(K, request, MPI_STATUSES_IGNORE);
            break;
        case 13:
            for (flag = 0; !flag;)
                MPI_Request_get_status_any(K, request, &index, &flag, &status);
            use(box[index], N);
            MPI_Waitall(K, request, MPI_STATUSES_IGNORE);
            break;
        case 14:
            for (n = 0; !n;)
                MPI_Request_get_status_some(K, request, &n, indices, statuses);
            for (int i = 0; i < n; i++)
                use(box[indices[i]], N);
            MPI_Waitall(K, request, MPI_STATUSES_IGNORE);
            break;
#endif
        default:
            MPI_Waitall(K, request, statuses);
        }
        check();
    }
}

static void persistent(void) {
    int *b = ints(N, N);
    MPI_Request one;
    if (rank == 0) {
        MPI_Send_init(b, N, MPI_INT, 1, 5, COMM, &one);
        MPI_Start(&one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        int *hole = ints(1, 0);
        b[2] = hole[0];
        MPI_Start(&one); // FINDS 0: Start
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        b[2] = 0;
        MPI_Startall(1, &one);
        MPI_Waitall(1, &one, MPI_STATUSES_IGNORE);
    } else {
        int *r = ints(N, 0);
        MPI_Recv_init(r, N, MPI_INT, 0, 5, COMM, &one);
        for (int i = 0; i < 3; i++) {
            MPI_Start(&one);
            MPI_Wait(&one, MPI_STATUS_IGNORE);
            use(r, i == 1 ? 2 : N);
        }
        free(r);
    }
    MPI_Request_free(&one);
    free(b);
}

static void cancelled(void) {
    if (rank == 0)
        return;
    int *r = ints(N, 0), flag;
    MPI_Request one;
    MPI_Status status;
    MPI_Irecv(r, N, MPI_INT, 0, 77, COMM, &one);
    MPI_Cancel(&one);
    MPI_Wait(&one, &status);
    MPI_Test_cancelled(&status, &flag);
    if (flag)
        decide(r[0]);
    free(r);
}

static void derived(void) {
    MPI_Datatype column;
    MPI_Request one;
    int *m = ints(16, 0);
    MPI_Type_vector(4, 1, 4, MPI_INT, &column);
    MPI_Type_commit(&column);
    if (rank == 0) {
        for (int i = 0; i < 4; i++)
            m[4 * i] = i;
        MPI_Isend(m, 1, column, 1, 9, COMM, &one);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        MPI_Isend(m + 1, 1, column, 1, 9, COMM, &one); // FINDS 0: Isend
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        MPI_Type_free(&column);
    } else {
        MPI_Irecv(m, 1, column, 0, 9, COMM, &one);
        MPI_Type_free(&column); /* it goes on living in the request */
        MPI_Wait(&one, MPI_STATUS_IGNORE);
        for (int i = 0; i < 4; i++)
            use(m + 4 * i, 1);
        decide(m[5]);
        MPI_Recv(m + 4, 4, MPI_INT, 0, 9, COMM, MPI_STATUS_IGNORE);
    }
    free(m);
}

/* By absolute addresses. */
static void bottom(void) {
    int *a = ints(2, 2), *b = rank ? ints(2, 0) : ints(2, 1), lengths[2] = {2, 2};
    MPI_Aint at[2];
    MPI_Datatype both;
    MPI_Get_address(a, &at[0]);
    MPI_Get_address(b, &at[1]);
    MPI_Type_create_hindexed(2, lengths, at, MPI_INT, &both);
    MPI_Type_commit(&both);
    if (rank == 0) {
        MPI_Send(MPI_BOTTOM, 1, both, 1, 4, COMM); // FINDS 0: Send
    } else {
        MPI_Recv(MPI_BOTTOM, 1, both, 0, 4, COMM, MPI_STATUS_IGNORE);
        use(a, 2), use(b, 2);
    }
    MPI_Type_free(&both);
    free(a), free(b);
}

/* What a long double, and a value with its place, do not use. */
static void padding(void) {
    struct {
        double value;
        int at;
    } *pairs = malloc(3 * sizeof *pairs);
    long double *longs = malloc(2 * sizeof *longs);
    if (rank == 0) {
        for (int i = 0; i < 3; i++)
            pairs[i].value = i, pairs[i].at = i;
        for (int i = 0; i < 2; i++)
            longs[i] = i + sink;
        MPI_Send(pairs, 3, MPI_DOUBLE_INT, 1, 1, COMM);
        MPI_Send(longs, 2, MPI_LONG_DOUBLE, 1, 1, COMM);
        MPI_Send(pairs, sizeof *pairs, MPI_BYTE, 1, 1, COMM); // FINDS 0: Send
    } else {
        MPI_Recv(pairs, 3, MPI_DOUBLE_INT, 0, 1, COMM, MPI_STATUS_IGNORE);
        MPI_Recv(longs, 2, MPI_LONG_DOUBLE, 0, 1, COMM, MPI_STATUS_IGNORE);
        if (pairs[2].value == 77 || pairs[2].at == 88 || longs[1] == 99)
            sink++;
        MPI_Recv(pairs, sizeof *pairs, MPI_BYTE, 0, 1, COMM, MPI_STATUS_IGNORE);
    }
    free(pairs), free(longs);
}

/* One that the program completes, none, and one that is not under way, beside one that is. */
static int ask(void *state, MPI_Status *status) {
    MPI_Status_set_elements(status, MPI_INT, 1);
    MPI_Status_set_cancelled(status, 0);
    status->MPI_SOURCE = status->MPI_TAG = MPI_UNDEFINED;
    return MPI_SUCCESS;
}

static int release(void *state) {
    return MPI_SUCCESS;
}

static int cancel(void *state, int complete) {
    return MPI_SUCCESS;
}

static void of_all_kinds(void) {
    int *r = ints(N, 0), *b = ints(N, N), count;
    MPI_Status statuses[4];
    MPI_Request four[4] = {MPI_REQUEST_NULL};
    MPI_Comm copy;
    MPI_Grequest_start(ask, release, cancel, NULL, &four[0]);
    MPI_Recv_init(b, N, MPI_INT, 0, 12, COMM, &four[2]);
    MPI_Irecv(r, N, MPI_INT, MPI_ANY_SOURCE, 13, MPI_COMM_SELF, &four[3]);
    four[1] = MPI_REQUEST_NULL;
    MPI_Send(b, N, MPI_INT, 0, 13, MPI_COMM_SELF);
    MPI_Grequest_complete(four[0]);
    MPI_Waitall(4, four, statuses);
    MPI_Get_count(&statuses[0], MPI_INT, &count);
    use(&count, 1), use(r, N);
    MPI_Request_free(&four[2]);
    MPI_Comm_idup(COMM, &copy, &four[0]);
    MPI_Wait(&four[0], MPI_STATUS_IGNORE);
    MPI_Comm_free(&copy);
    free(r), free(b);
}

/* Completions that the library refuses store nothing. */
static void refused(void) {
    int index, flag, n;
    MPI_Status status;
    MPI_Comm_set_errhandler(COMM, MPI_ERRORS_RETURN);
    if (MPI_Waitany(-1, request, &index, &status) == MPI_SUCCESS || MPI_Testany(-1, request, &index, &flag, &status) == MPI_SUCCESS ||
        MPI_Waitsome(-1, request, &n, &index, &status) == MPI_SUCCESS || MPI_Testall(-1, request, &flag, &status) == MPI_SUCCESS)
        printf("not refused\n");
    if (rank == 1)
        decide(index);
    MPI_Comm_set_errhandler(COMM, MPI_ERRORS_ARE_FATAL);
}

int main(int argc, char **argv) {
    begin(&argc, &argv);
    completions();
    persistent();
    cancelled();
    derived();
    bottom();
    padding();
    of_all_kinds();
    refused();
    MPI_Finalize();
    return 0;
}
