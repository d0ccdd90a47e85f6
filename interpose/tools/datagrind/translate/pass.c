/* Datagrind: what the tracing layer writes down is all it needs. */
#include "jit/ucode.h"
#include "jit/trace.h"

IP_TOOL_PASS(datagrind, "datagrind", ip_trace_pass);
