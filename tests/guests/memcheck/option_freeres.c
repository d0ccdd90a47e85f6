/* What the libraries keep is not given back at the end.
 * @options: --run-libc-freeres=no --run-cxx-freeres=no --leak-check=full --show-leak-kinds=all */
#include <time.h>
int main(void) {
    tzset();
    return 0;
}
