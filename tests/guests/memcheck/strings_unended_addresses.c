/* The same where undefined bytes are not looked for: the first hole is told.
 * @options: --undef-value-errors=no */
#include "strings_unended.c"
