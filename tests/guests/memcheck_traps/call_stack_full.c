/* More calls than the engine's call stack has entries: some that never return, and
 * that no longjmp takes back; continuations, which longjmp takes back; a recursion
 * with the smallest frames there are. Traces are right before and after. */
/* @expect: Conditional jump or move depends on uninitialised value(s) at shown */
/* @expect: Conditional jump or move depends on uninitialised value(s) at shown_at_the_end */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>

#define STACK (64ul << 20)

void never_returned(long calls);
long deep(long depth);

__asm__(".text\n"
        "never_returned: mov %rdi, %r9\n\t1: call 2f\n\t2: add $8, %rsp\n\tdec %r9\n\tjnz 1b\n\tret\n"
        "deep: xor %eax, %eax\n\tmov %rdi, %rcx\n\t"
        "3: dec %rcx\n\tjs 4f\n\tcall 3b\n\tinc %rax\n\t4: ret\n");

static jmp_buf taken_back;
static long left;

static __attribute__((noinline)) void continuation(int depth) {
    if (--left == 0)
        longjmp(taken_back, 2);
    if (depth == 100)
        longjmp(taken_back, 1);
    continuation(depth + 1);
    puts("never here");
}

static __attribute__((noinline)) void shown(const int *p) {
    if (*p == 1)
        puts("one");
}

static __attribute__((noinline)) void shown_at_the_end(const int *p) {
    if (*p == 1)
        puts("one");
}

static void *thread(void *unused) {
    int *p = malloc(sizeof *p);
    shown(p);
    never_returned(1500000);
    left = 1500000;
    while (setjmp(taken_back) != 2)
        continuation(0);
    printf("%ld\n", deep(2500000));
    shown_at_the_end(p);
    free(p);
    return unused;
}

int main(void) {
    pthread_t t;
    pthread_attr_t attributes;
    never_returned(5000000);
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK);
    pthread_create(&t, &attributes, thread, NULL);
    pthread_join(t, NULL);
    return 0;
}
