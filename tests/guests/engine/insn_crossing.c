// flags: -no-pie
// modes: default single-step evict memcheck tracking
/* Instructions at the end of a page: behind it nothing, or what cannot be executed, or the rest of them. */
#include "probes.h"

PROBE("mov imm64", "movabs $0x1122334455667788, %rax")
PROBE("mov imm32", "mov $0x11223344, %eax")
PROBE("add memory", "addl $0x12345678, 0x80(%rbx)")
PROBE("jmp", ".byte 0xe9, 0, 0, 0, 0")
PROBE("jz", "xor %ecx, %ecx\n.byte 0x0f, 0x84, 0, 0, 0, 0")
PROBE("call", ".byte 0xe8, 0, 0, 0, 0")
PROBE("ret", "push $0x03000000\nret $8")
PROBE("lock cmpxchg16b", "lock cmpxchg16b 0x40(%r12)")
PROBE("vex", "vpxor %ymm1, %ymm2, %ymm3")
PROBE("evex", "vpaddd 0x40(%rbx){1to16}, %zmm1, %zmm2{%k1}")
PROBE("prefixes", ".byte 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e\nnop")
PROBE("too long", ".fill 15, 1, 0x2e\nnop")
PROBE("ud2", "ud2")
PROBE("ud1", ".byte 0x0f, 0xb9, 0x84, 0x8b, 1, 2, 3, 4")
PROBE("invalid", ".byte 0x06, 0, 0")
PROBE("invalid group", ".byte 0xff, 0xff, 0, 0")
PROBE("lock invalid", ".byte 0xf0, 0x89, 0x03, 0, 0")
PROBE("int3", "int3")
PROBE("int", "int $13")
PROBE("syscall", "mov $24, %eax\nsyscall\nxor %ecx, %ecx\nxor %r11d, %r11d\nxor %eax, %eax")
PROBE("hlt", "hlt")
PROBE("far", ".byte 0xff, 0x2b")
PROBE("fs prefix", ".byte 0x65\nmov 0x10, %rax")
PROBE("string", "rep movsb")
PROBE("x87", "fldl 0x80(%rbx)\nfstp %st")

enum { MISSING, DATA_ONLY, THERE };

/* The first cut bytes end the page. */
static void at_end(const struct probe *p, unsigned cut, int next) {
    char name[64];
    unsigned char *page = (unsigned char *)CODE, *at = page + 4096 - cut;
    unsigned n = (unsigned)(p->to - p->from);
    fixed(CODE, 8192, PROT_READ | PROT_WRITE);
    memset(page, 0x90, 8192);
    memcpy(at, p->from, n);
    put_exit(at + n);
    mprotect(page, 4096, PROT_READ | PROT_EXEC);
    if (next == MISSING)
        munmap(page + 4096, 4096);
    else
        mprotect(page + 4096, 4096, next == THERE ? PROT_READ | PROT_EXEC : PROT_READ | PROT_WRITE);
    snprintf(name, sizeof name, "%s, %u of %u, %d", p->name, cut, n, next);
    run_code(name, (uint64_t)at);
}

int main(void) {
    setvbuf(stdout, NULL, _IOLBF, 1 << 12);
    probe_areas();
    for (const struct probe *p = __start_probetab; p < __stop_probetab; p++) {
        unsigned n = (unsigned)(p->to - p->from);
        for (unsigned cut = 1; cut <= n; cut++)
            for (int next = MISSING; next <= THERE; next++) at_end(p, cut, next);
    }
    return 0;
}
