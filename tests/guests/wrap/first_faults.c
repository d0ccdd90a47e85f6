/* The first instruction of a wrapped function writes to code that has run: it faults where nobody sees it, and goes on
 * in the function, not in its wrapper once more. */
#include "header.h"
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

static int wraps;
int patch(int value, void *at);
__asm__(".text\n.globl patch\n.type patch, @function\npatch: mov %edi, (%rsi)\nlea 1(%rdi), %eax\nret\n.size patch, .-patch\n");

int I_WRAP_SONAME_FNNAME_ZU(NONE, patch)(int value, void *at) {
    int result;
    OrigFn fn;
    VALGRIND_GET_ORIG_FN(fn);
    wraps++;
    CALL_FN_W_WW(result, fn, value, at);
    return result * 10;
}

int main(void) {
    uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int (*code)(void) = (int (*)(void))(void *)page;
    int sum = 0;
    memcpy(page, "\xb8\x05\0\0\0\xc3", 6); /* mov eax, 5; ret */
    for (int i = 0; i < 3; i++) {
        sum = sum * 100 + code();
        sum += patch(7 + i, page + 1);
    }
    printf("%d %d\nwraps %d\n", sum, code(), wraps);
    return 0;
}
