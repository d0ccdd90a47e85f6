/* interpose/jit/memory.c and abi/inline/shared_lock.h in ordinary processes. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "jit/memory.h"

static struct tt_memory *own;

static jmp_buf told;

void tt_no_room(void) { longjmp(told, 1); }
void tt_init_pages(struct transtab *t) { (void)t; }
void tt_init_waiting(struct transtab *t) { (void)t; }

int begin(void) {
    own = mmap(NULL, sizeof *own, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (own == MAP_FAILED) return -1;
    tt_begin_tables(&own->table);
    return 0;
}
void end(void) { munmap(own, sizeof *own); }

/* Where a table of n bytes is in the heap; it must be all zero, and then is not. */
long take(size_t n) {
    uint8_t *at = tt_alloc(&own->table, 1, n);
    for (size_t i = 0; i < n; i++)
        if (at[i]) return -1;
    memset(at, 0xa5, n);
    return at - own->heap;
}
void give(long at, size_t n) { tt_free(&own->table, own->heap + at, n); }

/* ---- the lock ---- */

static bool is_gone(uint32_t pid) { return kill((pid_t)pid, 0) < 0 && errno == ESRCH; }

static bool lock(struct ip_shared_lock *l, uint32_t me) { return !ip_lock_try(l, me) && ip_lock_await(l, me, is_gone); }

/* Processes that each add to two numbers under the lock, so often: are they equal, and as large as they should be? */
int count(int processes, int times) {
    struct both {
        struct ip_shared_lock lock;
        volatile int a, b;
    } *m = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int p = 0; p < processes; p++)
        if (fork() == 0) {
            for (int i = 0; i < times; i++) {
                lock(&m->lock, (uint32_t)getpid());
                if (m->a != m->b) _exit(1);
                m->a++;
                if (i % 64 == 0) usleep(1);
                m->b++;
                ip_lock_give(&m->lock);
            }
            _exit(0);
        }
    int bad = 0, status;
    for (int p = 0; p < processes; p++)
        if (wait(&status) < 0 || status) bad = 1;
    int right = !bad && m->lock.word == 0 && m->a == processes * times && m->b == m->a;
    munmap(m, 4096);
    return right;
}

/* A process dies with the lock: 1: we get it and hear of that; 2: we get it as if nothing had been. */
int widow(void) {
    struct ip_shared_lock *l = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child = fork();
    if (child == 0) {
        lock(l, (uint32_t)getpid());
        kill(getpid(), SIGKILL);
    }
    waitpid(child, NULL, 0);
    int how = lock(l, (uint32_t)getpid()) ? 1 : 2;
    ip_lock_give(l);
    if (l->word) how = 3;
    munmap(l, 4096);
    return how;
}

/* Tables of a megabyte until there is no room: how many. */
int filled(void) {
    volatile int n = 0;
    if (setjmp(told)) return n;
    for (; n < 1000; n++) tt_alloc(&own->table, 1 << 20, 1);
    return -1;
}
