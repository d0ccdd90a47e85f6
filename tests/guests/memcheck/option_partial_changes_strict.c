/* The same where such reads are errors, too.
 * @options: --partial-loads-ok=no */
#include "partial_changes.c"
