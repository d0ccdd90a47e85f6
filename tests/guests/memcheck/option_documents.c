/* Reports of other kinds beside the text, which stays as it is.
 * @ours: --json-file=documents.json --sarif-file=documents.sarif --html-file=documents.html --cache=read --cache-size=100 */
#include <stdlib.h>
int main(void) {
    char *p = malloc(10);
    p[10] = 1;
    free(p);
    return 0;
}
