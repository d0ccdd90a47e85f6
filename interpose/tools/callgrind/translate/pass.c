/* Callgrind counts what the records say; nothing else is added to the program's code. */
#include "jit/trace.h"
#include "jit/ucode.h"

IP_TOOL_PASS(callgrind, "callgrind", ip_trace_pass);
