/* The null tool: nothing is added. */
#include "ucode.h"

IP_TOOL_PASS(none, "none", 0);
