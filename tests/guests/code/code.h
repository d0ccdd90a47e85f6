/* What these guests share: a function of six bytes that answers a number, and memory for it. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RW (PROT_READ | PROT_WRITE)
#define RX (PROT_READ | PROT_EXEC)
#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)
typedef int (*fn)(void);

/* mov eax, value; ret */
static inline void put(void *at, int value) {
    uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &value, 4);
    memcpy(at, code, sizeof code);
}

static inline void require(int holds, const char *what) {
    if (holds) return;
    perror(what);
    exit(99);
}

static inline uint8_t *map(size_t n, int prot) {
    void *p = mmap(NULL, n, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    require(p != MAP_FAILED, "mmap");
    return p;
}

static inline uint8_t *map_file(int fd, size_t n, int prot, int how) {
    void *p = mmap(NULL, n, prot, how, fd, 0);
    require(p != MAP_FAILED, "mmap of a file");
    return p;
}
