/* What mprotect, pkey_mprotect and PR_SET_PTRACER refuse, and what they look at first. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say(const char *what, long result) {
    printf("%s: %ld %s\n", what, result, result == -1 ? strerror(errno) : "");
}
#define SAY(call) say(#call, call)
#define PROTECT(at, bytes, rights) SAY(syscall(SYS_mprotect, at, bytes, rights))
#define KEYED(at, bytes, rights, key) SAY(syscall(SYS_pkey_mprotect, at, bytes, rights, key))

int main(void) {
    char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    PROTECT(p, 0L, 0xface00L);
    PROTECT(p, 0L, 0xdeadfeed00ca7500L);
    PROTECT(p, 0L, 0x03000000L);
    PROTECT(p + 1, 0L, 0L);
    PROTECT(p, -1L, 0xface00L);
    PROTECT(p, 4096L, 0xface00L);
    PROTECT(p, 4096L, 0x100000001L);
    KEYED(p, 0L, 0xface00L, 99L);
    KEYED(p, 0L, 1L, 99L);
    KEYED(p, 4096L, 1L, 99L);
    KEYED(p, 4096L, 1L, -1L);
    munmap(p, 8192);
    PROTECT(p, 4096L, 1L);
    PROTECT(p, 4096L, 0xface00L);
    KEYED(p, 4096L, 1L, 99L);
    KEYED(p, 4096L, 1L, -1L);
    SAY(prctl(PR_SET_PTRACER, 0L, 0L, 0L, 0L));
    SAY(prctl(PR_SET_PTRACER, -1L, 0L, 0L, 0L));
    SAY(prctl(PR_SET_PTRACER, 0x3fffffffL, 0L, 0L, 0L));
    return 0;
}
