/* More code than there are templates for, then code that has been run before.  Instructions with two accesses have the
 * largest templates: push and pop of memory. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (4 << 20)

__attribute__((noinline)) static int work(int n) {
    int sum = 0;
    for (int i = 0; i < n; i++) sum += i * i % 7;
    return sum;
}

int main(void) {
    unsigned char *code = mmap(0, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int sum = 0;
    long cell = 0;
    for (int i = 0; i < BYTES; i += 4) memcpy(code + i, "\xff\x37\x8f\x07", 4);
    code[BYTES - 4] = 0xc3;
    for (int i = 0; i < 2; i++) {
        sum += work(100);
        if (i == 0) ((void (*)(long *))code)(&cell);
    }
    printf("%d\n", sum + work(10));
    return 0;
}
