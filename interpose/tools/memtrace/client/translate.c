/* Blocks are translated in the process that runs them. */
#include "jit/client/here.h"

IP_TRANSLATES_HERE
