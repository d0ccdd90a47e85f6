/* Options that fit one another, one by its tool's prefix, one of another tool's, which is passed over.
 * @options: --memcheck:leak-check=full --helgrind:nonsense=yes --command-line-only=no --tool=memcheck -v -q */
#include <stdlib.h>
int main(void) {
    malloc(4);
    return 0;
}
