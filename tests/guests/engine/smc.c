/* Code that changes: rewritten in place, ahead in the same block, W^X flips, aliased mappings, unmapped and mapped anew. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
typedef int (*fn)(void);
static int put(uint8_t *p, int v) {
    uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &v, 4);
    memcpy(p, code, sizeof code);
    return 0;
}
int main(void) {
    uint8_t *p = mmap(0, 8192, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        put(p, i);
        sum += ((fn)p)();
    }
    printf("rewritten %ld\n", sum);
    /* mov byte [rip+1], 7; mov eax, 1; ret: changes its own next instruction */
    static const uint8_t ahead[] = {0xc6, 0x05, 0x01, 0, 0, 0, 7, 0xb8, 1, 0, 0, 0, 0xc3};
    memcpy(p + 64, ahead, sizeof ahead);
    printf("ahead %d", ((fn)(p + 64))());
    p[72] = 1;
    printf(" %d\n", ((fn)(p + 64))());
    sum = 0;
    for (int i = 0; i < 50; i++) {
        mprotect(p, 4096, PROT_READ | PROT_WRITE);
        put(p, i * 3);
        mprotect(p, 4096, PROT_READ | PROT_EXEC);
        sum += ((fn)p)();
    }
    printf("w^x %ld\n", sum);
    int fd = memfd_create("code", 0);
    if (ftruncate(fd, 4096)) return 1;
    uint8_t *w = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *x = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    sum = 0;
    for (int i = 0; i < 50; i++) {
        put(w, i * 5);
        sum += ((fn)x)();
    }
    printf("aliased %ld\n", sum);
    sum = 0;
    for (int i = 0; i < 20; i++) {
        uint8_t *q = mmap(p, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
        put(q, i + 1000);
        sum += ((fn)q)();
        munmap(q, 4096);
    }
    printf("mapped anew %ld\n", sum);
    p = mmap(0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    put(p, 5);
    printf("before %d", ((fn)p)());
    int pipefd[2];
    if (pipe(pipefd)) return 1;
    uint8_t code[6];
    put(code, 6);
    if (write(pipefd[1], code, 6) != 6 || read(pipefd[0], p, 6) != 6) return 1;
    printf(" kernel wrote %d\n", ((fn)p)());
    return 0;
}
