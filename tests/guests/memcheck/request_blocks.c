/* MALLOCLIKE_BLOCK with red zones, RESIZEINPLACE_BLOCK both ways, FREELIKE_BLOCK twice; the address 0.
 * @options: --leak-check=full */
#include <stdlib.h>
#include <sys/mman.h>
#include <valgrind/memcheck.h>

int main(void) {
    char *area = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    volatile int sum = 0;
    VALGRIND_MAKE_MEM_NOACCESS(area, 4096);
    VALGRIND_MALLOCLIKE_BLOCK(area + 100, 50, 8, 0);
    VALGRIND_MALLOCLIKE_BLOCK(area + 300, 50, 8, 1);
    VALGRIND_MALLOCLIKE_BLOCK(0, 50, 8, 1);
    if (area[110]) /* undefined */
        sum++;
    if (area[310])
        sum++;
    area[150] = 1;
    area[99] = 1;
    VALGRIND_RESIZEINPLACE_BLOCK(area + 100, 50, 70, 8);
    area[160] = 1;
    area[170] = 1;
    VALGRIND_RESIZEINPLACE_BLOCK(area + 300, 50, 20, 8);
    area[320] = 1;
    VALGRIND_RESIZEINPLACE_BLOCK(area + 1000, 50, 20, 8); /* none */
    VALGRIND_FREELIKE_BLOCK(area + 100, 8);
    area[101] = 1;
    VALGRIND_FREELIKE_BLOCK(area + 100, 8);
    VALGRIND_FREELIKE_BLOCK(0, 8);
    area = 0;
    return 0;
}
