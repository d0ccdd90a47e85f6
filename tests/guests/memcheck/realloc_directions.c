/* realloc grows, shrinks, moves and stays: what lies behind the new end is no longer the program's.
 * @options: --leak-check=full */
#include <stdlib.h>
#include <string.h>

int main(void) {
    char *p = malloc(100), c;
    memset(p, 1, 100);
    p = realloc(p, 50);
    c = p[50]; /* behind the new end */
    p = realloc(p, 50);
    c = p[49];
    p = realloc(p, 60);
    if (p[55]) /* new, never written */
        c = 1;
    if (p[49] == 1)
        c = 2;
    p = realloc(p, 100000);
    p[99999] = p[59];
    if (p[99999])
        c = 3;
    p = realloc(p, 1);
    p[1] = 0;
    char *q = realloc(NULL, 7);
    q[7] = 1;
    free(q);
    free(p);
    return 0;
}
