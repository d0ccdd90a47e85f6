/* Strings that PRINTF is given: long ones, and such as run into what nobody can read. */
#include <interpose/interpose.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
int main(void) {
    enum { PAGE = 4096, LONG = 200000 };
    char *page = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(page, 'u', PAGE);
    munmap(page + PAGE, PAGE);
    char *text = malloc(LONG + 1);
    memset(text, 'y', LONG);
    text[LONG] = 0;
    int n = VALGRIND_PRINTF("%s\n", text);
    printf("%d\n", n);
    VALGRIND_PRINTF("%.3s|%.6s|%.0s|\n", page + PAGE - 6, page + PAGE - 6, (char *)16);
    VALGRIND_PRINTF("%s|%.9s|\n", page + PAGE - 6, page + PAGE - 4);
    VALGRIND_PRINTF("%s|%.2s|\n", page + PAGE, (char *)NULL);
    VALGRIND_PRINTF("%.5s|%.5s|\n", "abc\0def", "abcdefg");
    free(text);
    return 0;
}
