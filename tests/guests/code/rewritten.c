/* Pages that are writable and executable: rewritten before each call, and a loop that rewrites itself. */
#include "code.h"

int main(int argc, char **argv) {
    int times = argc > 1 ? atoi(argv[1]) : 10000;
    uint8_t *p = map(4096, RWX);
    long sum = 0;
    for (int i = 0; i < times; i++) {
        put(p, i);
        sum += ((fn)p)();
    }
    printf("%ld\n", sum);
    /* mov ecx, times; xor eax, eax; again: mov [rip + 1], ecx; add rax, imm32; dec ecx; jne again; ret */
    uint8_t code[] = {0xb9, 0, 0, 0, 0, 0x31, 0xc0, 0x89, 0x0d, 0x02, 0, 0, 0, 0x48,
                      0x05, 0, 0, 0, 0, 0xff, 0xc9, 0x75, 0xf0, 0xc3};
    memcpy(code + 1, &times, 4);
    memcpy(p + 256, code, sizeof code);
    printf("%ld\n", ((long (*)(void))(void *)(p + 256))());
    return 0;
}
