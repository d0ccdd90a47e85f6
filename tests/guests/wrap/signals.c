/* Signals at any moment of the way into a wrapped function, through its wrapper, and back: one wrapper for each call. */
#include "header.h"
#include <signal.h>
#include <sys/time.h>

#define CALLS 2000000
#define WANTED 400
static volatile int signals;
static int wraps;

NOINLINE int add(int a, int b) { return a + b; }

int I_WRAP_SONAME_FNNAME_ZU(NONE, add)(int a, int b) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps++;
    CALL_FN_W_WW(result, fn, a, b);
    return result + 1;
}

static void on_alarm(int sig) { signals += sig == SIGALRM; }

int main(void) {
    struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    int calls = 0, wrong = 0;
    signal(SIGALRM, on_alarm);
    setitimer(ITIMER_REAL, &often, NULL);
    while (calls < CALLS && signals < WANTED) {
        int before = wraps, sum = add(calls, 5);
        wrong += sum != calls + 5 + (wraps - before) || wraps - before > 1;
        calls++;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    printf("wrong %d, wrapped %s\n", wrong, wraps == 0 ? "none" : wraps == calls ? "each" : "some");
    return 0;
}
