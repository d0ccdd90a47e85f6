/* The C library's inline functions of _FORTIFY_SOURCE call builtins that have linkage names of theirs.
 * @build: -O2 -D_FORTIFY_SOURCE=2
 * @options: -q --track-origins=no
 */
#include <string.h>

char text[128];
volatile int shift;

int main(void) {
    memset(text, 'a', 40);
    strcpy(text + shift + 3, text + 10);
    memset(text, 'a', 40);
    text[40] = 0;
    strncpy(text + shift + 3, text, 20 + shift);
    return 0;
}
