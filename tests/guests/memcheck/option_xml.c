/* The report as XML, with a comment of the user's.
 * @options: --xml=yes --xml-file=option_xml.xml --xml-user-comment=<a>b</a> --leak-check=full
 * @ours: --xml-protocol=@PROTOCOL@
 * @shows: option_xml.xml */
#include <stdlib.h>
#include <valgrind/valgrind.h>
int main(void) {
    char *p = malloc(5);
    VALGRIND_PRINTF("a line with <brackets> & more %d\n", 3);
    VALGRIND_PRINTF_BACKTRACE("with its stack\n");
    if (p[1])
        p[5] = 1;
    free(p);
    free(p);
    p = malloc(9);
    p = 0;
    return 0;
}
