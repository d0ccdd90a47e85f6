/* What contexts stand for: see body.h. */
#include <string.h>

#include "body.h"
#include "collect.h"
#include "elf/symtab.h"
#include "tools/callgrind/callgrind_abi.h"

static struct cg_object *object_of(struct cg_object *const *objects, uint64_t n, uint32_t number) {
    uint32_t index = number & CG_F_INDEX;
    if (number & CG_F_UNKNOWN) return index < n ? objects[index] : NULL;
    if (!number) return NULL;
    uint64_t lo = 0, hi = n;
    while (lo < hi) {
        uint64_t mid = (lo + hi) / 2;
        if (objects[mid]->base <= index)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo ? objects[lo - 1] : NULL;
}

static int begins(const char *name, const char *with) { return strncmp(name, with, strlen(with)) == 0; }

/* A name that is shown as it is: none that is mangled, stands for a redirection, or for what is below main. */
static int is_plain(const char *name) {
    if (name[0] != '_') return strcmp(name, "generic_start_main") != 0;
    return !begins(name, "_Z") && !begins(name, "_R") && !begins(name, "_vg") && !begins(name, "_start") &&
           !begins(name, "__libc_start_");
}

void cg_describe(const struct cg_taken *t, uint64_t from, struct cg_where *where, struct cg_object *const *objects,
                 uint64_t n) {
    for (uint64_t i = from; i < t->n_names; i++) {
        const struct cg_name *name = &t->names[i];
        struct cg_object *o = object_of(objects, n, name->function);
        where[i] = (struct cg_where){.object = o, .start = ~0ull, .function = -1};
        if (!o) continue;
        o->is_used = 1;
        if (name->function & CG_F_UNKNOWN) continue;
        uint32_t piece = (name->function & CG_F_INDEX) - o->base;
        where[i].function = piece;
        if (piece >= o->code->count) continue;
        const char *symbol = o->code->names + o->code->name_from[piece];
        where[i].start = o->code->address[piece];
        if (!name->level && !name->caller && is_plain(symbol)) where[i].name = symbol;
    }
}
