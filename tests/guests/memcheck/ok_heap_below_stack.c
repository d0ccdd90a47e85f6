/* No error: processes as of Erlang, whose stack and heap grow towards each other in one block, many in one carrier.
 * The heap is written below the stack pointer, up to a few words from it.
 * @options: -q --leak-check=no --max-stackframe=32768 */
#include <stdlib.h>

#include "switch_stacks.h"

#define WORDS     512
#define PROCESSES 16

struct process {
    long *words; /* heap from here on, stack from the other end */
    long *top;   /* of the heap */
    void *sp;
};
static struct process processes[PROCESSES], *running;
static void *home;
static volatile long sum;

static void yield(void) { switch_stacks(&running->sp, home); }

/* Words of its own between heap and stack, as C code that runs there needs some. */
static int has_room(void) { return (long *)__builtin_frame_address(0) - running->top > 40; }

static long deep(long n) {
    volatile long local[3] = {n, n + 1, n + 2};
    if (n > 0 && has_room()) *running->top++ = n + deep(n - 1);
    yield();
    return local[0] + local[2];
}

static void begin(void) {
    for (;;) {
        while (has_room()) {
            *running->top++ = (long)(running->top - running->words);
            if (running->top - running->words > WORDS - 140) deep(3);
            if ((running->top - running->words) % 7 == 0) yield();
        }
        for (long *p = running->words; p < running->top; p++)
            if (*p > 5) sum += *p; /* all of it, as a collector would */
        running->top = running->words;
        yield();
    }
}

int main(void) {
    long *carrier = aligned_alloc(4096, PROCESSES * WORDS * sizeof(long));
    for (int i = 0; i < PROCESSES; i++) {
        struct process *p = &processes[i];
        p->words = p->top = carrier + i * WORDS;
        void **sp = (void **)(p->words + WORDS - 2);
        *--sp = NULL;
        *--sp = (void *)begin;
        for (int k = 0; k < 6; k++) *--sp = NULL;
        p->sp = sp;
    }
    for (int turn = 0; turn < 20000; turn++) {
        running = &processes[turn * 7 % PROCESSES];
        switch_stacks(&home, running->sp);
    }
    free(carrier);
    return 0;
}
