/* Code that is rewritten through another mapping, where no write to its page is seen. */
#define _GNU_SOURCE
#include <interpose/interpose.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
static unsigned char code[] = {0xb8, 0, 0, 0, 0, 0xc3}; /* mov eax, imm32; ret */
int main(void) {
    int fd = memfd_create("code", 0), wrong = 0;
    if (ftruncate(fd, 8192)) return 1;
    unsigned char *write = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    unsigned char *run = (unsigned char *)mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    for (int i = 1; i <= 200; i++) {
        unsigned at = i % 2 ? 4096 - 3 : 64; /* also across two pages */
        memcpy(code + 1, &i, 4);
        memcpy(write + at, code, sizeof code);
        VALGRIND_DISCARD_TRANSLATIONS(run + at, sizeof code);
        int (*f)(void) = (int (*)(void))(run + at);
        for (int k = 0; k < 3; k++) wrong += f() != i;
    }
    printf("wrong %d\n", wrong);
    return 0;
}
