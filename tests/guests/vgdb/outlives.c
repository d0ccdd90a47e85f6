/* A child that says nothing for longer than anybody looks whether its parent is still there. */
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

void late(void) { __asm__ volatile(""); }

int main(void) {
    pid_t parent = getpid();
    if (fork() == 0) {
        while (getppid() == parent) usleep(1000);
        nanosleep(&(struct timespec){1, 500000000}, 0);
        late();
        return 3;
    }
    return 4;
}
