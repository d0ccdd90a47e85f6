/* The same where no bit counts as undefined.
 * @options: --undef-value-errors=no */
#include "partial_changes.c"
