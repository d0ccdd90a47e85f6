/* Stage 3: the tool's pass.  Tools register themselves in a linker section, so
 * nothing here names one. */
#include <string.h>

#include "abi/channel.h"
#include "abi/space.h"
#include "jit/ucode.h"

extern const struct ip_tool_pass *const __start_ip_tool_passes[];
extern const struct ip_tool_pass *const __stop_ip_tool_passes[];

/* strcmp, which the program's process has not. */
static bool is_name(const char *a, const char *b) {
    while (*a && *a == *b) a++, b++;
    return *a == *b;
}

const struct ip_tool_pass *ip_tool_pass(const struct ip_jit_opts *o) {
    for (const struct ip_tool_pass *const *p = __start_ip_tool_passes; p < __stop_ip_tool_passes; p++)
        if (is_name((*p)->name, o->tool)) return *p;
    return NULL;
}

void ip_stage3_instrument(const struct ublock *in, struct ublock *out, const struct ip_jit_opts *o) {
    const struct ip_tool_pass *pass = ip_tool_pass(o);
    if (!pass || !pass->instrument || (o->flags & IP_C_NO_INSTR) || (in->key & IP_KEY_BARE)) {
        ub_copy_head(out, in);
        out->n_u = in->n_u;
        memcpy(out->u, in->u, sizeof in->u[0] * (size_t)in->n_u);
        return;
    }
    ub_copy_head(out, in);
    pass->instrument(in, out, o->flags);
}
