/* Memtrace adds what the layer of traces adds (jit/trace.h). */
#include "jit/trace.h"
#include "jit/ucode.h"

IP_TOOL_PASS(memtrace, "memtrace", ip_trace_pass);
