/* The same with --partial-loads-ok=no: each is an error.
 * @options: --partial-loads-ok=no */
#include "partial_load_sizes.c"
