/* Memory at fixed addresses that collectors choose for tagged pointers: ZGC's views of
 * one heap at 4, 8 and 16 TiB, CLISP's heap from 16 TiB on, nearly to 32. */
#define _GNU_SOURCE
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define TIB (1ul << 40)
#define PART (16ul << 20)

int main(void) {
    int heap = memfd_create("heap", 0);
    if (heap < 0 || ftruncate(heap, PART) != 0)
        return 1;
    volatile long *view[3];
    for (int i = 0; i < 3; i++) {
        view[i] = mmap((void *)(4 * TIB << i), PART, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, heap, 0);
        printf("view %d: %d\n", i, view[i] == (void *)(4 * TIB << i));
    }
    view[0][5] = 7;
    printf("%ld %ld\n", view[1][5], view[2][5]);
    munmap((void *)view[2], PART);
    for (unsigned long at = 0x1000000c0000; at < 32 * TIB; at += 4 * TIB - PART) {
        volatile char *p = mmap((void *)at, PART, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED) {
            printf("nothing at %lx\n", at);
            continue;
        }
        p[0] = p[PART - 1] = 3;
        printf("%lx: %d\n", (unsigned long)p, p[0] + p[1] + p[PART - 1]);
    }
    return 0;
}
