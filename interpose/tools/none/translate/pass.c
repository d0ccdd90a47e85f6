/* The null tool: nothing is added. */
#include "jit/ucode.h"

IP_TOOL_PASS(none, "none", 0);
