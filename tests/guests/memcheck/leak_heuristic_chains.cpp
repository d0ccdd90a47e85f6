/* Which heuristic is named where a block is found in several ways, one after the other.
 * @options: --leak-check=full */
#include <stdlib.h>
#include <string.h>
#include "valgrind/memcheck.h"

struct counted {
    ~counted() { value[0] = 0; }
    long value[2];
};

void *root[4];

__attribute__((noinline)) static void build(int how) {
    counted *a = new counted[3]; /* a leads to the inside of its block */
    void **p = (void **)calloc(1, 64);
    void **q = (void **)calloc(1, 64);
    memset(a, 0, 48);
    switch (how) {
    case 0: root[0] = a; break;                          
    case 1: p[2] = a; root[0] = p; break;
    case 2: p[2] = a; root[0] = p + 1; break;             /* through a possibly lost one */
    case 3: root[0] = a; root[1] = (char *)a - 8; break;  /* start pointer, found later */
    case 4: root[0] = (char *)a - 8; root[1] = a; break;
    case 5: p[2] = a; root[0] = p + 1; root[1] = p; break; /* possible first, then reachable */
    case 6: p[2] = a; q[2] = (char *)a - 8; root[0] = p + 1; root[1] = q; break;
    case 7: p[2] = a; q[2] = (char *)a - 8; root[0] = p; root[1] = q + 1; break;
    case 8: p[2] = a; q[2] = (char *)a - 8; root[0] = q; root[1] = p + 1; break;
    case 9: p[2] = a; q[2] = (char *)a + 8; root[0] = p + 1; root[1] = q; break;
    case 10: p[2] = a; break;                            /* lost */
    case 11: p[2] = a; q[2] = (char *)a - 8; break;  
    case 12: p[2] = a; q[2] = (char *)a - 8; root[0] = p; root[1] = q; break;
    case 13: p[2] = a; q[2] = (char *)a - 8; root[0] = q; root[1] = p; break;
    case 14: root[0] = (char *)a + 16; root[1] = p + 1; p[2] = a; break;
    case 15: root[1] = (char *)a + 16; root[0] = p + 1; p[2] = a; break;
    case 16: root[0] = (char *)a + 16; root[1] = p + 1; p[2] = a; p[3] = (char *)a - 8; break;
    case 17: root[0] = (char *)a + 16; root[1] = p; p[2] = a; break;
    case 18: root[1] = (char *)a + 16; root[0] = p; p[2] = a; break;
    case 19: root[0] = (char *)a + 16; root[1] = p + 1; p[2] = a; root[2] = (char *)a - 8; break;
    case 20: root[0] = (char *)a + 16; root[1] = p + 1; p[2] = a; root[2] = q; q[2] = (char *)a - 8; break;
    case 21: root[0] = (char *)a + 16; root[1] = p + 1; p[2] = (char *)a - 8; break;
    case 22: root[0] = (char *)a + 16; p[2] = a; break;
    case 23: root[0] = (char *)a + 16; p[2] = a; root[1] = a; break;
    case 24: root[0] = (char *)a + 16; root[1] = (char *)a + 32; break;
    case 25: root[0] = (char *)a + 16; p[2] = a; root[1] = p + 1; root[2] = p; break;
    case 26: root[0] = (char *)a + 16; root[1] = p; root[2] = q; p[2] = a; q[2] = (char *)a - 8; break;
    case 27: root[0] = (char *)a + 16; root[1] = q; root[2] = p; p[2] = a; q[2] = (char *)a - 8; break;
    case 28: root[3] = (char *)a + 16; root[1] = q; root[2] = p; p[2] = a; q[2] = (char *)a - 8; break;
    case 29: root[3] = (char *)a + 16; root[1] = p; root[2] = q; p[2] = a; q[2] = (char *)a - 8; break;
    case 30: root[0] = (char *)a + 16; root[1] = p; p[2] = a; a[0].value[0] = (long)q; q[2] = (char *)a - 8; break;
    case 31: root[0] = p; p[2] = a; a[0].value[0] = (long)q; q[2] = (char *)a - 8; break;
    case 32: root[0] = a; a[0].value[0] = (long)q; q[2] = (char *)a - 8; break;
    case 33: root[0] = a; a[0].value[0] = (long)a - 8; break;
    case 34: root[0] = (char *)a + 16; root[1] = a; a[0].value[0] = (long)a - 8; break;
    case 35: root[0] = (char *)a + 16; root[1] = q + 1; root[2] = p; p[2] = a; q[2] = (char *)a - 8; break;
    case 36: root[0] = (char *)a + 16; root[1] = q + 1; root[2] = a;  q[2] = (char *)a - 8; break;
    case 37: root[0] = (char *)a + 16; root[3] = q + 1; root[2] = a;  q[2] = (char *)a - 8; break;
    case 38: root[0] = (char *)a + 16; root[3] = q + 1; root[2] = p; p[2] = a;  q[2] = (char *)a - 8; break;
    }
    a = 0;
    p = q = 0;
}

__attribute__((noinline)) static void clear(void) {
    volatile char room[16384];
    for (unsigned i = 0; i < sizeof room; i++) room[i] = 0;
    __asm__ volatile(
        "xor %%eax, %%eax\n\txor %%ecx, %%ecx\n\txor %%edx, %%edx\n\txor %%esi, %%esi\n\t"
        "xor %%edi, %%edi\n\txor %%r8d, %%r8d\n\txor %%r9d, %%r9d\n\txor %%r10d, %%r10d\n\t"
        "xor %%r11d, %%r11d" ::: "rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11");
}

int main(void) {
    for (int how = 0; how < 39; how++) {
        memset(root, 0, sizeof root);
        build(how);
        clear();
        VALGRIND_PRINTF("%d\n", how);
        VALGRIND_DO_LEAK_CHECK;
        clear();
        memset(root, 0, sizeof root);
        VALGRIND_DO_QUICK_LEAK_CHECK;
    }
    return 0;
}
