/* One shared object at far addresses, hinted and fixed, up to 126 TiB, as ZGC's views of its heap; code there. */
// modes: default
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SIZE (1ul << 20)
static const unsigned long at[] = {1ul << 42, 1ul << 43, 1ul << 44, 33ul << 40, 126ul << 40};
#define N (int)(sizeof at / sizeof *at)
static const unsigned char code[] = {0x8d, 0x47, 0x01, 0xc3}; /* lea eax, [rdi+1]; ret */

int main(void) {
    int fd = memfd_create("heap", 0);
    if (fd < 0 || ftruncate(fd, SIZE) != 0)
        return 1;
    for (int i = 0; i < N; i++) {
        char *hint = (char *)at[i];
        char *p = mmap(hint, SIZE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        printf("%d reserved %d\n", i, p == hint);
        p = mmap(hint, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0);
        printf("%d mapped %d\n", i, p == hint);
        p[i] = (char)(i + 1);
        memcpy(p + 4096, code, sizeof code);
    }
    char *last = (char *)at[N - 1];
    printf("%d %d %d %d %d\n", last[0], last[1], last[2], last[3], last[4]);
    for (int i = 0; i < N; i++) {
        char *p = (char *)at[i];
        printf("%d", mprotect(p + 4096, 4096, PROT_READ | PROT_EXEC));
        printf(" %d", ((int (*)(int))(p + 4096))(i * 10));
        printf(" %d\n", mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE));
        p[4096 + 2] = (char)(i + 2);
        mprotect(p + 4096, 4096, PROT_READ | PROT_EXEC);
        printf("%d\n", ((int (*)(int))(p + 4096))(i * 10));
        mprotect(p + 4096, 4096, PROT_READ | PROT_WRITE);
        p[4096 + 2] = 1;
    }
    for (int i = 0; i < N; i++)
        printf("%d", munmap((void *)at[i], SIZE));
    errno = 0;
    printf(" %d %d\n", msync((void *)at[2], 4096, MS_ASYNC), errno == ENOMEM);
    return 0;
}
