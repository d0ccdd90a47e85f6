/* Code that changes, the rarer ways: data beside code, code on the stack, two pages, overlapping instructions. */
// flags: -z execstack
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>
typedef int (*fn)(void);
typedef long (*fnl)(long);
#define RWX (PROT_READ | PROT_WRITE | PROT_EXEC)

static uint8_t *pages(size_t n, int prot) {
    void *p = mmap(0, n, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) exit(99);
    return p;
}

static void put(uint8_t *p, int v) {
    uint8_t code[] = {0xb8, 0, 0, 0, 0, 0xc3};
    memcpy(code + 1, &v, 4);
    memcpy(p, code, sizeof code);
}

static void often(void) {
    uint8_t *p = pages(4096, RWX);
    long sum = 0;
    for (int i = 0; i < 3000; i++) {
        put(p + i % 16 * 32, i);
        sum += ((fn)(p + i % 16 * 32))() + (i > 16 ? ((fn)(p + (i + 5) % 16 * 32))() : 0);
    }
    printf("often %ld\n", sum);
}

/* Its counter lies beside the code, which itself never changes. */
static void beside(void) {
    uint8_t *p = pages(4096, RWX);
    /* inc dword [rip + 0x100 - 6]; mov eax, [rip + 0x100 - 12]; ret */
    static const uint8_t code[] = {0xff, 0x05, 0xfa, 0, 0, 0, 0x8b, 0x05, 0xf4, 0, 0, 0, 0xc3};
    memcpy(p, code, sizeof code);
    int last = 0;
    for (int i = 0; i < 5000; i++) last = ((fn)p)();
    printf("beside %d\n", last);
}

static void on_stack(void) {
    long sum = 0;
    for (int i = 0; i < 2000; i++) {
        int add(int x) { return x + i; } /* a trampoline on the stack */
        int (*volatile f)(int) = add;
        sum += f(3);
    }
    printf("nested %ld", sum);
    sum = 0;
    for (int i = 0; i < 2000; i++) {
        uint8_t code[16];
        put(code, i);
        __asm__ volatile("" : : "r"(code) : "memory");
        sum += ((fn)code)();
    }
    printf(" stack %ld\n", sum);
}

static void two_pages(void) {
    uint8_t *p = pages(8192, RWX);
    long sum = 0;
    for (int at = 4091; at <= 4096; at++) {
        put(p + at, 0x01010101);
        sum += ((fn)(p + at))();
        for (int i = 0; i < 40; i++) {
            for (int k = 1; k < 5; k++)
                if (p + at + k >= p + 4096) p[at + k] = (uint8_t)(i + k);
            sum += ((fn)(p + at))();
        }
    }
    /* The second page is mapped anew. */
    put(p + 4093, 0x02020202);
    sum += ((fn)(p + 4093))();
    uint8_t *q = mmap(p + 4096, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    q[2] = 0xc3;
    sum += ((fn)(p + 4093))();
    printf("two pages %ld\n", sum);
}

static void overlap(void) {
    uint8_t *p = pages(4096, RWX);
    /* mov eax, 0x90c301b0: at +1 it is mov al, 1; ret */
    static const uint8_t code[] = {0xb8, 0xb0, 0x01, 0xc3, 0x90, 0xc3};
    memcpy(p, code, sizeof code);
    printf("overlap %x", ((fn)p)());
    printf(" %d", ((fn)(p + 1))() & 255);
    p[2] = 7;
    printf(" %x", ((fn)p)());
    printf(" %d\n", ((fn)(p + 1))() & 255);
}

static void in_loop(void) {
    uint8_t *p = pages(4096, RWX);
    static const uint8_t code[] = {
        0x31, 0xc0,                               /* xor eax, eax */
        0xb9, 0xe8, 0x03, 0, 0,                   /* mov ecx, 1000 */
        0x88, 0x0d, 0x01, 0, 0, 0,                /* mov [rip + 1], cl: the immediate below */
        0x05, 0, 0, 0, 0,                         /* add eax, imm32 */
        0xff, 0xc9,                               /* dec ecx */
        0x75, 0xf1,                               /* jne */
        0xc3,
    };
    memcpy(p, code, sizeof code);
    printf("in a loop %d", ((fn)p)());
    /* rep movsb over the instructions after it */
    static const uint8_t rep[] = {
        0x48, 0x8d, 0x35, 0x12, 0, 0, 0,          /* lea rsi, [rip + 18]: the new code */
        0x48, 0x8d, 0x3d, 0x07, 0, 0, 0,          /* lea rdi, [rip + 7] */
        0xb9, 0x06, 0, 0, 0,                      /* mov ecx, 6 */
        0xf3, 0xa4,                               /* rep movsb */
        0xb8, 1, 0, 0, 0, 0xc3,
        0xb8, 9, 0, 0, 0, 0xc3,
    };
    memcpy(p + 256, rep, sizeof rep);
    p[256 + 3] = sizeof rep - 6 - 7;
    printf(" rep %d", ((fn)(p + 256))());
    /* vector store ahead: movdqu [rip], xmm0 over what follows */
    static const uint8_t vec[] = {
        0xf3, 0x0f, 0x6f, 0x05, 0x18, 0, 0, 0,    /* movdqu xmm0, [rip + 24] */
        0xf3, 0x0f, 0x7f, 0x05, 0, 0, 0, 0,       /* movdqu [rip], xmm0 */
        0xb8, 1, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
        0xb8, 4, 0, 0, 0, 0xc3, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90,
    };
    memcpy(p + 512, vec, sizeof vec);
    printf(" vector %d", ((fn)(p + 512))());
    /* lock xadd [rip], eax: the immediate of the next mov */
    static const uint8_t xadd[] = {
        0xb8, 5, 0, 0, 0,                         /* mov eax, 5 */
        0xf0, 0x0f, 0xc1, 0x05, 0x01, 0, 0, 0,    /* lock xadd [rip + 1], eax */
        0xb8, 7, 0, 0, 0, 0xc3,
    };
    memcpy(p + 1024, xadd, sizeof xadd);
    printf(" xadd %d", ((fn)(p + 1024))());
    printf(" %d\n", ((fn)(p + 1024))());
}

/* The return address is pushed into the page that runs. */
static void stack_in_code(void) {
    uint8_t *p = pages(4096, RWX);
    static const uint8_t code[] = {
        0x48, 0x89, 0xe2,                         /* mov rdx, rsp */
        0x48, 0x8d, 0x25, 0xf6, 0x0f, 0, 0,       /* lea rsp, [rip + 4096 - 10] */
        0xe8, 4, 0, 0, 0,                         /* call +4 */
        0x48, 0x89, 0xd4,                         /* mov rsp, rdx */
        0xc3, 0xb8, 11, 0, 0, 0, 0xc3,
    };
    memcpy(p, code, sizeof code);
    int sum = 0;
    for (int i = 0; i < 100; i++) sum += ((fn)p)();
    printf("stack in code %d\n", sum);
}

static void aliases(void) {
    int fd = memfd_create("code", 0);
    if (ftruncate(fd, 8192)) exit(98);
    uint8_t *w = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    uint8_t *x = mmap(0, 8192, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
    uint8_t *r = mmap(0, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        put(w + 4096, i);
        sum += ((fn)(x + 4096))() + 1000 * ((fn)r)();
    }
    printf("shared and private %ld", sum);
    sum = 0;
    for (int i = 0; i < 50; i++) {
        uint8_t code[6];
        put(code, i + 7);
        if (pwrite(fd, code, 6, 4096) != 6) exit(97);
        sum += ((fn)(x + 4096))();
    }
    printf(" file written %ld", sum);
    sum = 0;
    for (int i = 0; i < 20; i++) { /* made after the translation, and moved */
        put(w, i);
        sum += ((fn)x)();
        uint8_t *v = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        put(v, i + 500);
        sum += ((fn)x)();
        v = mremap(v, 4096, 8192, MREMAP_MAYMOVE);
        put(v, i + 700);
        sum += ((fn)x)();
        munmap(v, 8192);
    }
    printf(" later %ld", sum);
    uint8_t *s = mmap(0, 4096, RWX, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    uint8_t *again = mremap(s, 0, 4096, MREMAP_MAYMOVE);
    sum = 0;
    for (int i = 0; i < 20; i++) {
        put(s, i);
        sum += ((fn)again)();
        put(again, i * 2);
        sum += ((fn)s)();
    }
    printf(" twice %ld\n", sum);
}

static uint8_t *wanted;
static void on_exec_fault(int sig, siginfo_t *si, void *uc) {
    (void)sig;
    (void)uc;
    if (si->si_addr != wanted) _exit(96);
    uint8_t *q = mmap(wanted, 4096, RWX, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    put(q, 77);
}

static void mapped_by_handler(void) {
    struct sigaction sa = {.sa_sigaction = on_exec_fault, .sa_flags = SA_SIGINFO};
    sigaction(SIGSEGV, &sa, NULL);
    wanted = pages(4096, PROT_NONE);
    printf("handler %d", ((fn)wanted)());
    munmap(wanted, 4096);
    printf(" %d", ((fn)wanted)());
    mprotect(wanted, 4096, PROT_READ | PROT_WRITE);
    put(wanted, 5);
    printf(" %d\n", ((fn)wanted)());
}

static void by_kernel(void) {
    uint8_t *p = pages(8192, RWX);
    long sum = 0;
    for (int i = 0; i < 50; i++) {
        uint8_t code[6];
        put(code, i);
        struct iovec from = {code, 6}, to = {p, 6};
        if (process_vm_writev(getpid(), &from, 1, &to, 1, 0) != 6) exit(95);
        sum += ((fn)p)();
        int fd = open("/proc/self/mem", O_RDWR);
        put(code, i * 2);
        if (pwrite(fd, code, 6, (off_t)(uintptr_t)p) != 6) exit(94);
        close(fd);
        sum += ((fn)p)();
        madvise(p, 4096, MADV_DONTNEED);
        put(p, 3);
        sum += ((fn)p)();
    }
    printf("kernel %ld\n", sum);
}

static void flips(void) {
    uint8_t *p = pages(16384, PROT_READ | PROT_WRITE);
    long sum = 0;
    for (int i = 0; i < 300; i++) {
        mprotect(p, 16384, PROT_READ | PROT_WRITE);
        for (int k = 0; k < 4; k++) put(p + 4096 * k, i * k);
        mprotect(p, 16384, PROT_READ | PROT_EXEC);
        for (int k = 0; k < 4; k++) sum += ((fn)(p + 4096 * k))();
    }
    printf("flips %ld\n", sum);
}

int main(void) {
    often();
    beside();
    on_stack();
    two_pages();
    overlap();
    in_loop();
    stack_in_code();
    aliases();
    by_kernel();
    flips();
    fflush(stdout);
    mapped_by_handler();
    return 0;
}
