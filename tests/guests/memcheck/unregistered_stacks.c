/* Locals without a value on stacks that nobody registers, in memory that was defined before: a mapping, a calloc'd
 * block, a painted block, reached by makecontext, by assembly and as a thread's. What is kept beside a stack stays
 * defined.
 *
 * @build: -pthread
 * @options: --num-callers=2 */
#include <alloca.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

#define SIZE 65536
static ucontext_t home, here;
static volatile int seen;

static void leaf(void) { /* in the red zone */
    volatile int x;
    if (x) seen++;
}

static void frame(void) {
    volatile int x[1000];
    if (x[3]) seen++;
    if (x[900]) seen++;
    leaf();
}

static void variable(int n) {
    volatile int *x = alloca(n);
    if (x[n / 4 - 1]) seen++;
}

static void deeper(void) {
    volatile int x[3000];
    if (x[5]) seen++;
}

static void on_mapping(void) {
    frame();
    swapcontext(&here, &home);
    deeper();
    variable(16000);
}
static void on_zeroed(void) { frame(); }
static void on_painted(void) {
    variable(800);
    frame();
}
static void by_assembly(void) { frame(); }
static void *on_thread(void *p) {
    frame();
    return p;
}

static char *mapping(void) {
    char *p = mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    *(int *)p = 0x5afe;
    return p;
}

static void check(const char *stack, int canary) {
    if (*(const int *)stack != canary) printf("overwritten\n");
}

static void enter(char *stack, void (*f)(void)) {
    getcontext(&here);
    here.uc_stack.ss_sp = stack;
    here.uc_stack.ss_size = SIZE;
    here.uc_link = &home;
    makecontext(&here, f, 0);
    swapcontext(&home, &here);
}

static void call_on(char *top, void (*f)(void)) {
    __asm__ volatile("mov %%rsp, %%rbx\n\t"
                     "mov %0, %%rsp\n\t"
                     "call *%1\n\t"
                     "mov %%rbx, %%rsp"
                     :
                     : "r"(top), "r"(f)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11", "memory");
}

int main(void) {
    char *p = mapping();
    enter(p, on_mapping);
    swapcontext(&home, &here);
    check(p, 0x5afe);

    char *block = calloc(1, SIZE + 64);
    enter(block, on_zeroed);
    check(block, 0);
    check(block + SIZE, 0);

    char *painted = malloc(SIZE);
    memset(painted, 0xa5, SIZE);
    enter(painted, on_painted);
    check(painted, (int)0xa5a5a5a5);

    p = mapping();
    call_on(p + SIZE - 64, by_assembly);
    check(p, 0x5afe);
    check(p + SIZE - 64, 0);

    char *threads = aligned_alloc(4096, SIZE);
    memset(threads, 0, SIZE);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, threads, SIZE);
    pthread_create(&thread, &attributes, on_thread, 0);
    pthread_join(thread, 0);
    free(threads);
    free(painted);
    free(block);
    return 0;
}
