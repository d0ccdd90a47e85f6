/* Whether a profiling timer runs in a program that has set none: linked statically, for the dynamic linker may set one. */
#include <sys/time.h>

int main(void) {
    struct itimerval timer;
    if (getitimer(ITIMER_PROF, &timer)) return 2;
    return timer.it_value.tv_sec || timer.it_value.tv_usec || timer.it_interval.tv_sec || timer.it_interval.tv_usec;
}
