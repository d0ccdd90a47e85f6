/* What threads may do with frames of a thread that waits: fill the red zone of a function without a frame that waits by
 * itself, what a handler has interrupted, arrays that are stacks of other threads or of contexts that move between
 * threads, frames left behind by swapcontext.  @build: -pthread -O1 */
#define _GNU_SOURCE
#include <alloca.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define N __attribute__((noinline))

static volatile int sink;

static void futex_wake(int *word) {
    __atomic_store_n(word, 1, __ATOMIC_SEQ_CST);
    syscall(SYS_futex, word, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* Its locals are below RSP while it waits: it calls nothing. */
static int *red_word;
static volatile long *red_result;
N static long wait_in_red_zone(void) {
    volatile long result[4];
    int word = 0;
    result[1] = 1;
    __atomic_store_n(&red_result, result, __ATOMIC_SEQ_CST);
    __atomic_store_n(&red_word, &word, __ATOMIC_SEQ_CST);
    do {
        long ret, nr = SYS_futex;
        register long none __asm__("r10") = 0;
        __asm__ volatile("syscall"
                         : "=a"(ret)
                         : "a"(nr), "D"(&word), "S"((long)FUTEX_WAIT), "d"(0L), "r"(none)
                         : "rcx", "r11", "memory");
    } while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST));
    return result[0] + result[1] + result[2];
}
static void *fill_red_zone(void *unused) {
    while (!__atomic_load_n(&red_word, __ATOMIC_SEQ_CST)) usleep(500);
    usleep(20000);
    red_result[0] = red_result[1];
    red_result[2] = 3;
    futex_wake(red_word);
    return unused;
}

/* A thread waits deep down with an array that another one fills. */
struct room {
    char *at;
    unsigned size;
    int ready;
    int word;
};
static void *fill_room(void *argument) {
    struct room *r = argument;
    usleep(20000);
    memset(r->at, 5, r->size);
    futex_wake(&r->word);
    return NULL;
}
N static void wait_for_room(unsigned n) {
    struct room r = {alloca(n), n, 0, 0};
    pthread_t t;
    pthread_create(&t, NULL, fill_room, &r);
    while (!__atomic_load_n(&r.word, __ATOMIC_SEQ_CST)) syscall(SYS_futex, &r.word, FUTEX_WAIT, 0, NULL, NULL, 0);
    pthread_join(t, NULL);
    for (unsigned i = 0; i < n; i++) sink += r.at[i] == 6;
}

/* A handler waits; what it has interrupted is filled meanwhile. */
static volatile char *interrupted;
static int handler_word;
static void handler(int signo) {
    volatile char below[600];
    below[0] = (char)signo;
    while (!__atomic_load_n(&handler_word, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &handler_word, FUTEX_WAIT, 0, NULL, NULL, 0);
    sink += below[0];
}
static void *fill_interrupted(void *argument) {
    while (!__atomic_load_n(&interrupted, __ATOMIC_SEQ_CST)) usleep(500);
    pthread_kill(*(pthread_t *)argument, SIGUSR1);
    usleep(30000);
    for (int i = 0; i < 300; i++) interrupted[i] = (char)i;
    futex_wake(&handler_word);
    return NULL;
}
N static int be_interrupted(void) {
    volatile char mine[300];
    int sum = 0;
    __atomic_store_n(&interrupted, mine, __ATOMIC_SEQ_CST);
    while (!__atomic_load_n(&handler_word, __ATOMIC_SEQ_CST)) usleep(2000);
    for (int i = 0; i < 300; i++) sum += mine[i];
    return sum;
}

/* A thread's stack is an array of main's, which waits; a third thread works in a frame of that one. */
static void *volatile inner;
static void *on_array(void *unused) {
    volatile char frame[500];
    pthread_t t;
    struct room r = {(char *)frame, sizeof frame, 0, 0};
    inner = (void *)frame;
    pthread_create(&t, NULL, fill_room, &r);
    pthread_join(t, NULL);
    for (unsigned i = 0; i < sizeof frame; i++) sink += frame[i] == 6;
    return unused;
}
N static void array_as_stack(void) {
    char array[1 << 16] __attribute__((aligned(4096)));
    pthread_attr_t attr;
    pthread_t t;
    pthread_attr_init(&attr);
    pthread_attr_setstack(&attr, array, sizeof array);
    pthread_create(&t, &attr, on_array, NULL);
    pthread_join(t, NULL);
    pthread_attr_destroy(&attr);
}

/* A context on main's array is begun by main and goes on in another thread, which waits in it while main writes. */
static ucontext_t back, other_back, fiber;
static ucontext_t *home;
static volatile char *of_fiber;
static int fiber_word;
static void fiber_run(void) {
    volatile char mine[400];
    of_fiber = mine;
    mine[0] = 1;
    swapcontext(&fiber, home);
    while (!__atomic_load_n(&fiber_word, __ATOMIC_SEQ_CST))
        syscall(SYS_futex, &fiber_word, FUTEX_WAIT, 0, NULL, NULL, 0);
    for (int i = 0; i < 400; i++) sink += mine[i] == 6;
    swapcontext(&fiber, home);
}
static volatile char *left_behind;
N static void go_into_fiber(void) {
    volatile char mine[200];
    left_behind = mine;
    home = &other_back;
    swapcontext(&other_back, &fiber);
    for (int i = 0; i < 200; i++) sink += mine[i] == 6;
}
static void *resume(void *unused) {
    go_into_fiber();
    return unused;
}
N static void move_fiber(void) {
    char array[1 << 16];
    pthread_t t;
    getcontext(&fiber);
    fiber.uc_stack.ss_sp = array;
    fiber.uc_stack.ss_size = sizeof array;
    makecontext(&fiber, fiber_run, 0);
    home = &back;
    swapcontext(&back, &fiber);
    for (int i = 1; i < 100; i++) of_fiber[i] = 5; /* nobody is in it */
    pthread_create(&t, NULL, resume, NULL);
    while (!left_behind) usleep(500);
    usleep(30000);
    for (int i = 100; i < 400; i++) of_fiber[i] = 5;
    for (int i = 0; i < 200; i++) left_behind[i] = 5;
    futex_wake(&fiber_word);
    pthread_join(t, NULL);
}

int main(void) {
    pthread_t t, self = pthread_self();
    pthread_create(&t, NULL, fill_red_zone, NULL);
    sink += wait_in_red_zone() == 12345;
    pthread_join(t, NULL);
    wait_for_room(100);
    wait_for_room(40000);
    signal(SIGUSR1, handler);
    pthread_create(&t, NULL, fill_interrupted, &self);
    sink += be_interrupted() == 12345;
    pthread_join(t, NULL);
    array_as_stack();
    move_fiber();
    return 0;
}
