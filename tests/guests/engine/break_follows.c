// flags: -no-pie
/* A program that is executed anew without randomized addresses: its break begins where
 * it ends, with room. Saved images of Lisps (GCL) go on there, with data and code. */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <unistd.h>

extern char end[];

static long run(char *at) {
    static const unsigned char twice[] = {0x48, 0x8d, 0x04, 0x3f, 0xc3}; /* lea (%rdi,%rdi), %rax; ret */
    memcpy(at, twice, sizeof twice);
    return ((long (*)(long))(void *)at)(21);
}

int main(int argc, char **argv) {
    char *past = (char *)(((uintptr_t)end + 4095) & -4096ul);
    setvbuf(stdout, NULL, _IONBF, 0);
    if (argc == 1) {
        char *again[] = {argv[0], "again", NULL};
        printf("%x\n", (unsigned)personality(ADDR_NO_RANDOMIZE));
        execv("/proc/self/exe", again);
        return 1;
    }
    printf("%s: %x\n", argv[1], (unsigned)personality(0xffffffff));
    printf("break: %d\n", sbrk(0) == past);
    char *large = sbrk(200 << 20);
    printf("room: %d\n", large == past);
    large[0] = large[(200 << 20) - 1] = 1;
    personality(ADDR_NO_RANDOMIZE | READ_IMPLIES_EXEC);
    char *heap = sbrk(65536);
    printf("behind it: %d, %ld\n", heap == large + (200 << 20), run(heap));
    return 0;
}
