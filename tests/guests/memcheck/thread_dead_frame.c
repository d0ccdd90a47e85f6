/* What a function leaves to a thread is gone when it has returned: the thread reads and writes it, while who called the
 * function waits; main looks below the frame of a thread that waits, and where no frame ever was.  What is alive is no
 * error, but what is undefined of it.  @build: -pthread */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static volatile int sink;
static char *volatile left;
static pid_t main_tid, other_tid;
static int devnull;

struct job {
    int in, out;
};

static void await_sleep(pid_t tid) {
    for (int seen = 0; seen < 5;) {
        char path[64], text[256] = "";
        snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
        int fd = open(path, O_RDONLY);
        if (read(fd, text, sizeof text - 1) < 0) text[0] = 0;
        close(fd);
        const char *state = strrchr(text, ')');
        seen = state && state[2] == 'S' ? seen + 1 : 0;
        usleep(2000);
    }
}

static void *work(void *argument) {
    struct job *j = argument;
    await_sleep(main_tid);
    sink += j->in;
    j->out = 5;
    sink += write(devnull, &j->in, 4) == 4;
    return NULL;
}

static void *work_alive(void *argument) {
    struct job *j = argument;
    char before[sizeof *j];
    await_sleep(main_tid);
    sink += j[0].in;
    memcpy(before, &j[1], sizeof *j);
    memcpy(&j[2], before, sizeof *j);
    j[0].out = 6;
    if (j[1].out == 7) sink++;
    return NULL;
}

__attribute__((noinline)) static pthread_t start(int depth) {
    volatile char pad[3000];
    struct job j = {1, 2};
    pthread_t t;
    pad[0] = (char)depth;
    if (depth)
        t = start(depth - 1);
    else
        pthread_create(&t, NULL, work, &j);
    sink += pad[0];
    return t;
}

__attribute__((noinline)) static void deep(void) {
    volatile char frame[8000];
    for (unsigned i = 0; i < sizeof frame; i++) frame[i] = (char)i;
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void *wait_below(void *argument) {
    volatile char here[64];
    here[3] = 1;
    deep();
    other_tid = (pid_t)syscall(SYS_gettid);
    left = (char *)here;
    pthread_mutex_lock(&mutex);
    sink += here[3];
    return argument;
}

int main(void) {
    struct job j[3];
    pthread_t t;
    main_tid = getpid();
    devnull = open("/dev/null", O_WRONLY);
    t = start(3);
    pthread_join(t, NULL);

    j[0].in = 4;
    pthread_create(&t, NULL, work_alive, j);
    pthread_join(t, NULL);

    pthread_mutex_lock(&mutex);
    pthread_create(&t, NULL, wait_below, NULL);
    while (!left) usleep(1000);
    await_sleep(other_tid);
    if (left[3] == 5) sink++;
    if (left[-4000] == 5) sink++;
    left[-5000] = 1;
    if (left[-300000] == 5) sink++; /* where no frame ever was there are zeros */
    pthread_mutex_unlock(&mutex);
    pthread_join(t, NULL);
    return 0;
}
