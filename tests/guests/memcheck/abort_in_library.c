/* free of a pointer that is not the heap's, then abort: the report has the signal, and what was held.
 * (Of a lost block an old address may be on the stack, or not.)
 * @options: --leak-check=full */
#include <stdlib.h>
int main(void) {
    static char data[10];
    static char *volatile held;
    held = malloc(10);
    free(data);
    free(held + 3);
    abort();
}
