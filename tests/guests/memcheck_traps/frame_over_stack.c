/* A frame larger than the stack: below it is nothing for a good while, whatever the program maps.
 * @options: --main-stacksize=1000000
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define SIZE (12 << 20)

__attribute__((noinline)) static int large(int n) {
    volatile char frame[SIZE];
    frame[0] = n;
    frame[SIZE - 1] = 1;
    return frame[0];
}

int main(int argc, char **argv) {
    for (int i = 0; i < 4; i++)
        memset(mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 1, SIZE);
    printf("%d\n", large(argc));
    return 0;
}
