/* Processes on the same memory whose stack lies in their maker's frame, or in a mapping that the kernel
 * has joined with others: what lies around it is neither undefined nor out of bounds. */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define SIZE (64 << 10)

struct job {
    long in[100], out;
    int go[2];
};

static int body(void *arg) {
    struct job *job = arg;
    char c;
    read(job->go[0], &c, 1);
    long sum = 0;
    for (int k = 0; k < 100; k++)
        sum += job->in[k] > 50 ? job->in[k] : 1;
    job->out = sum;
    return 0;
}

static void run(struct job *job, char *top, const char *what) {
    int st;
    for (int k = 0; k < 100; k++)
        job->in[k] = k;
    pipe(job->go);
    pid_t p = clone(body, top, CLONE_VM | SIGCHLD, job);
    write(job->go[1], "x", 1); /* both run for a while */
    waitpid(p, &st, 0);
    printf("%s: %d %ld\n", what, WEXITSTATUS(st), job->out);
    close(job->go[0]);
    close(job->go[1]);
}

/* Which of two variables is lower is the compiler's choice, which of two members is not. */
__attribute__((noinline)) static void in_frame(void) {
    struct {
        struct job below;
        char stack[SIZE];
        struct job above;
    } frame;
    run(&frame.below, frame.stack + SIZE, "in the frame, data below");
    run(&frame.above, frame.stack + SIZE, "in the frame, data above");
}

static void *map(unsigned long size) {
    return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

int main(void) {
    in_frame();
    struct job *above = map(4096), *below;
    char *stack = map(SIZE);
    below = map(4096);
    run(above, stack + SIZE, "mapped, data above");
    run(below, stack + SIZE, "mapped, data below");
    munmap(stack, SIZE);
    return 0;
}
