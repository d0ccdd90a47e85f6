/* Threads made by clone without a size, whose stack is a part of a block, mapping or array: what lies below it (the
 * head of their structure, other threads' stacks) is neither undefined nor dead while they wait.
 *
 * @build: -pthread -O1 */
#define _GNU_SOURCE
#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N    __attribute__((noinline))
#define SIZE 65536

struct task {
    int id, tid, waits, go;
    char name[20];
    char *frame;
    struct task *next;
    char stack[SIZE] __attribute__((aligned(64)));
};

static volatile int sink;

/* Without a thread pointer of its own: the C library is left alone, but for what has no state. */
N static int body(void *argument) {
    struct task *t = argument;
    volatile char frame[500];
    for (int i = 0; i < 400; i++) frame[i] = 1;
    t->frame = (char *)frame;
    __atomic_store_n(&t->waits, 1, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&t->go, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &t->go, FUTEX_WAIT, 0, NULL, NULL, 0);
    for (int i = 0; i < 400; i++) sink += frame[i] == 6;
    return 0;
}

static void start(struct task *t, char *top) {
    t->tid = 1;
    strcpy(t->name, "name");
    clone(body, top,
          CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM | CLONE_PARENT_SETTID |
              CLONE_CHILD_CLEARTID,
          t, &t->tid, NULL, &t->tid);
    while (!__atomic_load_n(&t->waits, __ATOMIC_SEQ_CST)) usleep(500);
}

static void use(struct task *t) {
    usleep(10000); /* it waits by now */
    if (t->id == 3) sink++;
    if (!t->next) t->next = t;
    sink += (int)strlen(t->name);
    for (int i = 0; i < 400; i++) t->frame[i] += (char)i;
}

static void end(struct task *t) {
    __atomic_store_n(&t->go, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, &t->go, FUTEX_WAKE, 1, NULL, NULL, 0);
    while (__atomic_load_n(&t->tid, __ATOMIC_SEQ_CST)) usleep(500);
}

static struct task of_data;

/* The upper one is there first. */
static void two(char *stacks) {
    static struct task t[2];
    memset(t, 0, sizeof t);
    start(&t[1], stacks + 2L * SIZE);
    start(&t[0], stacks + SIZE);
    use(&t[0]);
    use(&t[1]);
    end(&t[0]);
    end(&t[1]);
}

int main(void) {
    struct task *t[] = {
        calloc(1, sizeof *t[0]),
        mmap(NULL, sizeof *t[0], PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0),
        &of_data,
    };
    for (int i = 0; i < 3; i++) {
        t[i]->id = i + 2;
        start(t[i], t[i]->stack + SIZE);
        use(t[i]);
        end(t[i]);
    }
    two(calloc(2, SIZE));
    two(mmap(NULL, 2L * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    static char array[2 * SIZE] __attribute__((aligned(64)));
    two(array);
    return sink > 5000;
}
