/* The older spelling of the kinds to be shown.  @options: --leak-check=yes --show-reachable=yes */
#include "option_legacy_possible.c"
