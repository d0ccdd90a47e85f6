/* Memory until there is no more: each kind ends in ENOMEM, and the program goes on. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    char *p;
    int blocks = 0, maps = 0;
    for (char *block; blocks < 1000 && (block = malloc(16 << 20)) != NULL; blocks++) memset(block, 1, 4096);
    printf("blocks end: %d, errno %d\n", blocks > 3 && blocks < 1000, errno);
    while (maps < 1000 && mmap(NULL, 16 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED) maps++;
    printf("maps end: %d, errno %d\n", maps < 1000, errno);
    p = malloc(3ul << 30);
    printf("huge: %d\n", p == NULL);
    return 0;
}
