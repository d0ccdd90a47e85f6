/* String instructions in both directions, with all widths, repeat prefixes, zero counts; xlat, loop, enter. */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
static uint8_t a[256], b[256];
static unsigned sum(const uint8_t *p) {
    unsigned h = 17;
    for (int i = 0; i < 256; i++) h = h * 31 + p[i];
    return h;
}
#define MOV(suffix, bytes)                                                                                      \
    do {                                                                                                        \
        void *d = b + 100, *s = a + 90;                                                                         \
        long c = 9;                                                                                             \
        __asm__ volatile("rep movs" suffix : "+D"(d), "+S"(s), "+c"(c)::"memory");                              \
        printf("%s %ld %ld %ld %x\n", suffix, (long)((uint8_t *)d - b), (long)((uint8_t *)s - a), c, sum(b));   \
        d = b + 200, s = a + 180, c = 7;                                                                        \
        __asm__ volatile("std\n\trep movs" suffix "\n\tcld" : "+D"(d), "+S"(s), "+c"(c)::"memory");             \
        printf("%s %ld %ld %ld %x\n", suffix, (long)((uint8_t *)d - b), (long)((uint8_t *)s - a), c, sum(b));   \
    } while (0)
int main(void) {
    for (int i = 0; i < 256; i++) a[i] = (uint8_t)(i * 7 + 3);
    MOV("b", 1);
    MOV("w", 2);
    MOV("l", 4);
    MOV("q", 8);
    void *d = b;
    long c = 30, r;
    uint8_t z;
    __asm__ volatile("rep stosl" : "+D"(d), "+c"(c) : "a"(0x01020304) : "memory");
    printf("stos %ld %x\n", (long)((uint8_t *)d - b), sum(b));
    memcpy(b, a, 256);
    b[77] ^= 1;
    void *s = a;
    d = b, c = 256;
    __asm__ volatile("repe cmpsb\n\tsetz %3" : "+D"(d), "+S"(s), "+c"(c), "=q"(z)::"cc", "memory");
    printf("cmps %ld %d\n", c, z);
    d = a, c = 256;
    __asm__ volatile("repne scasb\n\tsetz %2" : "+D"(d), "+c"(c), "=q"(z) : "a"(a[99]) : "cc");
    printf("scas %ld %d\n", c, z);
    d = a, c = 0;
    __asm__ volatile("xor %%eax,%%eax\n\trepne scasb\n\tsetz %2" : "+D"(d), "+c"(c), "=q"(z)::"rax", "cc");
    printf("scas none %ld %d\n", c, z);
    s = a;
    __asm__ volatile("lodsq" : "+S"(s), "=a"(r)::"memory");
    printf("lods %lx\n", r);
    __asm__ volatile("xlatb" : "=a"(r) : "0"(5L), "b"(a));
    printf("xlat %lx\n", r);
    c = 10, r = 0;
    __asm__ volatile("1: add %%rcx,%1\n\tloop 1b\n\tjrcxz 2f\n\tmov $0,%1\n2:" : "+c"(c), "+r"(r));
    printf("loop %ld %ld\n", c, r);
    __asm__ volatile("mov %%rsp,%%rcx\n\tenter $32,$0\n\tmov %%rsp,%0\n\tleave\n\tsub %%rsp,%%rcx\n\tmov %%rcx,%0"
                     : "=&r"(r)::"rcx", "memory");
    printf("enter %ld\n", r);
    return 0;
}
