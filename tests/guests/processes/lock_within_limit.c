/* mlockall within RLIMIT_MEMLOCK, for a user who may not lock more: the stack counts as far as it is there. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
// modes: none memcheck

int main(void) {
    struct rlimit limit = {8 << 20, 8 << 20};
    setvbuf(stdout, NULL, _IOLBF, 0);
    setrlimit(RLIMIT_MEMLOCK, &limit);
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) return 1; /* root may */
    printf("%d\n", mlockall(MCL_CURRENT));
    mmap(NULL, 8 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%d\n", mlockall(MCL_CURRENT) == -1 ? errno : 0);
    return 0;
}
