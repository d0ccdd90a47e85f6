/* NON_SIMD_CALL: no wrapper or replacement of the program's own applies inside; all of them do
 * before it, after it, in a signal handler meanwhile, and after it was left by a longjmp. */
#include <interpose/interpose.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static jmp_buf out;
static long (*volatile indirect)(long);

__attribute__((noinline)) long inner(long a) {
    __asm__ volatile("");
    return a + 1;
}
long I_WRAP_SONAME_FNNAME_ZU(NONE, inner)(long a) {
    OrigFn original;
    long result;
    INTERPOSE_GET_ORIG_FN(original);
    CALL_FN_W_W(result, original, a);
    return result + 100;
}
__attribute__((noinline)) long other(long a) {
    __asm__ volatile("");
    return a + 2;
}
long I_REPLACE_SONAME_FNNAME_ZU(NONE, other)(long a) { return a + 1000; }

static __attribute__((noinline)) long body(long tid) {
    long sum = 0;
    for (int i = 0; i < 20; i++)
        sum += inner(tid) + indirect(tid) + other(tid);
    return sum;
}
static long direct(long tid) { return inner(tid); }
static long allocates(long tid) {
    char *p = malloc(100);
    strcpy(p, "text");
    long n = (long)strlen(p);
    free(p);
    return n + tid;
}
static long nested(long tid) {
    long sum = inner(tid);
    sum += (long)INTERPOSE_NON_SIMD_CALL0(direct);
    return sum + inner(tid);
}
static char other_stack[65536];
static volatile long handled;
static volatile char sink;
static void handler(int sig) { handled += inner(1); }
static long interrupted(long tid) {
    raise(SIGUSR1);
    long sum = inner(tid);
    raise(SIGUSR2);
    return sum + inner(tid);
}
static long undefined(long tid) {
    volatile char *p = malloc(100);
    long sum = 0;
    for (int i = 0; i < 10; i++) {
        if (p[i] == 3)
            sink = 1;
        sum += inner(tid);
    }
    free((void *)p);
    return sum;
}
static long leaves(long tid) { longjmp(out, (int)tid); }

int main(void) {
    indirect = inner;
    for (int i = 0; i < 3; i++) {
        printf("body %ld", body(1));
        printf(" called %ld\n", (long)INTERPOSE_NON_SIMD_CALL0(body));
    }
    printf("inner itself %ld\n", (long)INTERPOSE_NON_SIMD_CALL1(inner, 1));
    printf("allocates %ld\n", (long)INTERPOSE_NON_SIMD_CALL0(allocates));
    printf("nested %ld\n", (long)INTERPOSE_NON_SIMD_CALL0(nested));
    printf("undefined %ld\n", (long)INTERPOSE_NON_SIMD_CALL0(undefined));
    struct sigaction act = {.sa_handler = handler};
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    sigaltstack(&stack, NULL);
    sigaction(SIGUSR1, &act, NULL);
    act.sa_flags = SA_ONSTACK;
    sigaction(SIGUSR2, &act, NULL);
    printf("interrupted %ld", (long)INTERPOSE_NON_SIMD_CALL0(interrupted));
    printf(" handled %ld\n", handled);
    if (!setjmp(out))
        (void)INTERPOSE_NON_SIMD_CALL0(leaves);
    printf("after a longjmp %ld\n", direct(1));
    printf("called %ld\n", (long)INTERPOSE_NON_SIMD_CALL0(direct));
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        printf("forked %ld %ld\n", direct(1), (long)INTERPOSE_NON_SIMD_CALL0(direct));
        return 0;
    }
    waitpid(child, NULL, 0);
    printf("at last %ld\n", body(1));
    return 0;
}
