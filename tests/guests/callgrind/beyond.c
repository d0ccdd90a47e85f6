/* More code than there are templates for; then code without one that is returned to from code that has one, and goes on
 * in such code with other registers. */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define BYTES (4 << 20)

__asm__(".text\n"
        ".type leaf, @function\n"
        "leaf:   mov $7, %ecx\n"
        "        mov $8, %edx\n"
        "        ret\n"
        ".size leaf, . - leaf\n"
        ".globl before, beyond\n"
        ".type before, @function\n"
        "before: call leaf\n"
        "back:   lea (%rcx,%rdx), %rax\n"
        "        ret\n"
        ".size before, . - before\n"
        ".type beyond, @function\n"
        "beyond: call leaf\n"
        "        mov $1000, %ecx\n"
        "        mov $234, %edx\n"
        "        test %ecx, %ecx\n" /* a jump that is not followed */
        "        jnz back\n"
        "        ud2\n"
        ".size beyond, . - beyond\n");
long before(void), beyond(void);

int main(void)
{
    long (*volatile later)(void) = beyond;
    unsigned char *code = mmap(0, BYTES, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    printf("%ld\n", before());
    memset(code, 0x90, BYTES);
    /* Small blocks at the end, for what large ones have left: lea 2(%rip), %rax; jmp *%rax */
    for (int i = 1; i <= 64; i++) memcpy(code + BYTES - 1 - 9 * i, "\x48\x8d\x05\x02\x00\x00\x00\xff\xe0", 9);
    code[BYTES - 1] = 0xc3;
    ((void (*)(void))code)();
    printf("%ld\n", later());
    printf("%ld\n", before());
    return 0;
}
