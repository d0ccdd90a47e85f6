/* The same with origins, for which they have ways of their own.
 * @options: --track-origins=yes */
#include "short_vectors.c"
