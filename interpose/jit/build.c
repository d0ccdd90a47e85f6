/* The identity that the runtime compares with its own. */
#include "build_id.h"
#include "jit/native_api.h"

uint32_t ip_build_id(void) { return IP_BUILD_ID; }
