/* Where nothing is called that releases what libraries keep, not on these either.
 * @options: --leak-check=full --show-leak-kinds=all --run-libc-freeres=no --run-cxx-freeres=no */
#include "leak_exit_registers.c"
