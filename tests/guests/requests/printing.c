/* What PRINTF makes of a format, beside what printf makes of it. */
#include <interpose/interpose.h>
#include <stdio.h>
#include <stddef.h>
#define BOTH(...) (VALGRIND_PRINTF(__VA_ARGS__), printf(__VA_ARGS__))
int main(void) {
    int n = 0;
    BOTH("plain\n");
    BOTH("%d %i %u %x %X %o|\n", -5, 6, 7u, 0xabcu, 0xABCu, 8u);
    BOTH("%5d|%-5d|%05d|%+d|% d|%#x|%#o|\n", 42, 42, 42, 42, 42, 42u, 42u);
    BOTH("%#x %#o %.0d|%.3d|%8.3d|%-08d|%+u|% x|%#010x|%+.2i\n", 0u, 0u, 0, 5, -5, 6, 7u, 8u, 0xbeefu, 9);
    BOTH("%a %A %08.2f %+f %5f|%-8F|\n", 1.5, 0.1, -1.0, 1e300 * 1e300, -1e300 * 1e300, 1e300 * 1e300);
    BOTH("%hhd %hd %ld %lld %zu %jd %td\n", (signed char)-1, (short)-2, -3l, -4ll, (size_t)5, (__INTMAX_TYPE__)-6,
         (ptrdiff_t)-7);
    BOTH("%hhu %hu %lu %llu\n", (unsigned char)255, (unsigned short)65535, ~0ul, ~0ull);
    BOTH("%s|%10s|%-10s|%.2s|%10.3s|%.*s|%*s|\n", "text", "text", "text", "text", "text", 3, "text", 8, "text");
    BOTH("[%s] [%4s] [%-2s]\n", "", "", "");
    VALGRIND_PRINTF("%'d %,ld %,d|%'9u\n", 1234567, -123456789l, 999, 12345u); /* grouped also where no locale says so */
    printf("1,234,567 -123,456,789 999|   12,345\n");
    BOTH("%c%c%c|%5c|%%\n", 'a', 'b', 'c', 'd');
    BOTH("%p %p\n", (void *)0x1234, (void *)&n == (void *)0 ? (void *)1 : (void *)0xfffff000);
    BOTH("%f %.3f %10.2f|%-10.1f|%e %E %g %G\n", 1.5, 2.25, 3.125, 4.0, 12345.678, 0.00012, 0.0001, 1e20);
    BOTH("%Lf %.2Lf\n", 1.25L, 100.5L);
    BOTH("%d %d %d %d %d %d %d %d %d %d\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, 10);
    BOTH("%f %f %f %f %f %f %f %f %f %f\n", 1., 2., 3., 4., 5., 6., 7., 8., 9., 10.);
    BOTH("%d %f %s %Lf %d %d %d %d %d %f %s\n", 1, 2., "three", 4.L, 5, 6, 7, 8, 9, 10., "eleven");
    BOTH("two\nlines\n");
    BOTH("joined ");
    BOTH("by the %s\n", "next");
    BOTH("caf\xc3\xa9 %s\n", "\xe2\x82\xac");
    n = VALGRIND_PRINTF("%s\n", "12345");
    fprintf(stderr, "count %d\n", n);
    VALGRIND_PRINTF("no newline at the end");
    return 0;
}
