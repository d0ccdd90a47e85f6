/* A pool of the program's own, with MALLOCLIKE_BLOCK and FREELIKE_BLOCK.
 * @options: --leak-check=full */
#include <sys/mman.h>
#include <valgrind/memcheck.h>

static char *pool, *next;
static volatile char sink;

static char *__attribute__((noinline)) take(unsigned long n) {
    char *p = next;
    next += n + 32;
    VALGRIND_MALLOCLIKE_BLOCK(p, n, 16, 0);
    return p;
}

int main(void) {
    pool = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    next = pool + 16;
    VALGRIND_MAKE_MEM_NOACCESS(pool, 65536);
    char *p = take(20), *q = take(30);
    p[0] = 1;
    sink = p[20];
    sink = p[1] ? 1 : 0;
    VALGRIND_FREELIKE_BLOCK(p, 16);
    sink = p[2];
    VALGRIND_FREELIKE_BLOCK(p, 16);
    q = 0;
    next = 0;
    (void)q;
    return 0;
}
