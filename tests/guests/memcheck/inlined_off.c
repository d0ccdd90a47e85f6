/* The same without inlined frames.  @build: -O2
 * @options: --read-inline-info=no */
#include "inlined.c"
