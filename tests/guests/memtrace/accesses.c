/* Loads, stores, vectors, string instructions, atomics and bit tests, without a C library. */
static long a[64];
static char from[300], to[300];
static struct big {
    long x[9];
} p, q;

static int less(long x, long y) { return x < y; }
__attribute__((noinline)) long fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

void *memcpy(void *d, const void *s, unsigned long n) {
    void *r = d;
    __asm__ volatile("rep movsb" : "+D"(d), "+S"(s), "+c"(n)::"memory");
    return r;
}

void _start(void) {
    float f[8];
    volatile float z = 0;
    __asm__ volatile("and $-16, %rsp");
    for (int i = 0; i < 64; i++) a[i] = (i * 7919) % 64;
    for (int i = 0; i < 64; i++)
        for (int j = 0; j < 63; j++)
            if (!less(a[j], a[j + 1])) {
                long t = a[j];
                a[j] = a[j + 1];
                a[j + 1] = t;
            }
    for (int i = 0; i < 300; i++) from[i] = i;
    memcpy(to, from, 299);
    q = p;
    fib(12);
    for (int i = 0; i < 8; i++) f[i] = i * 1.5f;
    for (int i = 0; i < 8; i++) z += f[i];
    __atomic_fetch_add(&a[3], 5, 0);
    __asm__ volatile("bts %1, %0" ::"m"(a[9]), "r"(70l) : "memory");
    __asm__ volatile("bts %1, %0" ::"m"(a[9]), "r"(-70l) : "memory");
    __asm__ volatile("btr %1, %0" ::"m"(*(int *)&a[9]), "r"(-70) : "memory");
    __asm__ volatile("xchg %%rax, %0; push %1; pop %0" ::"m"(a[9]), "m"(a[4]) : "rax", "memory");
    __asm__ volatile("syscall" ::"a"(60), "D"(0));
}
