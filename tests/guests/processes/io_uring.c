// skip-status: 77
/* io_uring: its rings are mapped where the kernel wants them; a read and a write through them. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static struct io_uring_params p;
static char *sq, *cq;
static struct io_uring_sqe *sqes;
static int ring;

static char *map(unsigned long size, unsigned long offset) {
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, offset);
}

static int run(int op, int fd, void *buffer, unsigned len) {
    unsigned *tail = (unsigned *)(sq + p.sq_off.tail), mask = *(unsigned *)(sq + p.sq_off.ring_mask);
    unsigned slot = *tail & mask;
    memset(&sqes[slot], 0, sizeof *sqes);
    sqes[slot].opcode = op;
    sqes[slot].fd = fd;
    sqes[slot].addr = (unsigned long)buffer;
    sqes[slot].len = len;
    sqes[slot].user_data = 42 + op;
    ((unsigned *)(sq + p.sq_off.array))[slot] = slot;
    __atomic_store_n(tail, *tail + 1, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0) != 1) return -errno;
    unsigned *head = (unsigned *)(cq + p.cq_off.head);
    struct io_uring_cqe *c =
        (struct io_uring_cqe *)(cq + p.cq_off.cqes) + (*head & *(unsigned *)(cq + p.cq_off.ring_mask));
    int r = c->user_data == 42u + op ? c->res : -9999;
    __atomic_store_n(head, *head + 1, __ATOMIC_RELEASE);
    return r;
}

int main(void) {
    ring = syscall(SYS_io_uring_setup, 8, &p);
    if (ring < 0) return 77; /* the kernel has none, or not for us */
    unsigned long sq_size = p.sq_off.array + p.sq_entries * 4;
    unsigned long cq_size = p.cq_off.cqes + p.cq_entries * sizeof(struct io_uring_cqe);
    unsigned long sqes_size = p.sq_entries * sizeof *sqes;
    sq = map(sq_size, IORING_OFF_SQ_RING);
    cq = map(cq_size, IORING_OFF_CQ_RING);
    sqes = (void *)map(sqes_size, IORING_OFF_SQES);
    printf("mapped %d %d %d\n", sq != MAP_FAILED, cq != MAP_FAILED, (void *)sqes != MAP_FAILED);
    void *at = mmap(sq, 4096, PROT_READ, MAP_SHARED | MAP_FIXED, ring, IORING_OFF_SQ_RING);
    printf("at an address: %s\n", at == MAP_FAILED ? strerror(errno) : "mapped");

    FILE *maps = fopen("/proc/self/maps", "r");
    char line[512];
    int seen = 0;
    while (fgets(line, sizeof line, maps)) seen += strstr(line, "anon_inode:[io_uring]") != NULL;
    fclose(maps);
    printf("in maps: %d\n", seen);

    int pair[2];
    pipe(pair);
    printf("write: %d\n", run(IORING_OP_WRITE, pair[1], "through the ring", 16));
    static char got[32];
    printf("read: %d\n", run(IORING_OP_READ, pair[0], got, sizeof got));
    printf("%s\n", got);
    printf("no such descriptor: %d\n", run(IORING_OP_READ, 999, got, sizeof got));
    fflush(stdout);
    pid_t q = fork();
    if (q == 0) _exit(run(IORING_OP_NOP, -1, NULL, 0) == 0 ? 3 : 4);
    int st;
    waitpid(q, &st, 0);
    printf("a child's: %d\n", WEXITSTATUS(st));
    printf("unmapped: %d %d %d\n", munmap(sq, sq_size), munmap(cq, cq_size), munmap(sqes, sqes_size));
    return 0;
}
