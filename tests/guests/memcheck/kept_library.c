/* The same with --keep-debuginfo=yes: the names stay.
 * @library: closed.c
 * @build: -ldl -Wl,-rpath,@OUT@
 * @options: --leak-check=full --keep-debuginfo=yes */
#include "closed_library.c"
