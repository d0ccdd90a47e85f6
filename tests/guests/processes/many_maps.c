/* /proc/self/smaps of a program with many mappings, read in small pieces: each is there once, in order, and the
 * position is that of a file.  (Time that grows with the square of the length would be minutes.) */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT 6000

int main(void) {
    char *area = mmap(NULL, COUNT * 8192L, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (long i = 0; i < COUNT; i++)
        mprotect(area + i * 8192, 4096, PROT_READ);
    FILE *f = fopen("/proc/self/smaps", "r");
    setvbuf(f, malloc(1024), _IOFBF, 1024);
    char line[1024];
    long found = 0, other = 0, size = 0;
    while (fgets(line, sizeof line, f)) {
        unsigned long lo, hi;
        char prot[5];
        if (sscanf(line, "%lx-%lx %4s", &lo, &hi, prot) == 3 && lo >= (unsigned long)area &&
            hi <= (unsigned long)area + COUNT * 8192L) {
            int as_set = lo == (unsigned long)area + (found + other) * 4096 && hi == lo + 4096 &&
                         !strcmp(prot, (found + other) % 2 ? "rw-p" : "r--p");
            *(as_set ? &found : &other) += 1;
        }
        size += strlen(line);
    }
    printf("found %d, other %ld, position %d\n", found >= 2 * COUNT - 1, other, ftell(f) == size);
    fclose(f);

    int fd = open("/proc/self/maps", O_RDONLY), copy = dup(fd), st;
    char a[300], b[300], all[600];
    pread(fd, all, sizeof all, 0);
    long n = read(fd, a, sizeof a);
    pid_t p = fork();
    if (p == 0) _exit(lseek(copy, 0, SEEK_CUR) == n && read(copy, b, 100) == 100 ? 3 : 4);
    waitpid(p, &st, 0);
    printf("shared with a child: %d, position %d\n", WEXITSTATUS(st), lseek(fd, 0, SEEK_CUR) == n + 100);
    lseek(fd, n, SEEK_SET);
    printf("a copy reads on: %d\n", read(copy, b, 200) == 200 && !memcmp(b, all + n, 200));
    return 0;
}
