/* What tracking translations tell the runtime of their instructions: most are written like many others. */
#include <string.h>

#include "jit/transtab.h"

#define SHAPES_MIN (1u << 10)

static uint32_t home(const struct ip_insn *shape, uint32_t size) {
    uint64_t w[2];
    memcpy(w, shape->bytes, sizeof w);
    uint64_t h = (w[0] ^ (w[1] + shape->mem.rip_target) * 0xc2b2ae3d27d4eb4full) * 0x9e3779b97f4a7c15ull;
    return (uint32_t)(h >> 32) & (size - 1);
}

static const struct ip_insn *shape_at(const struct transtab *t, uint32_t index) {
    return (const struct ip_insn *)(const void *)t->desc + index;
}

static void grow(struct transtab *t) {
    uint32_t size = t->shapes_size ? 2 * t->shapes_size : SHAPES_MIN, *table = tt_alloc(t, size, sizeof *table);
    for (uint32_t i = 0; i < t->shapes_size; i++) {
        if (!t->shapes[i]) continue;
        uint32_t h = home(shape_at(t, t->shapes[i] - 1), size);
        while (table[h]) h = (h + 1) & (size - 1);
        table[h] = t->shapes[i];
    }
    tt_free(t, t->shapes, t->shapes_size * sizeof *t->shapes);
    t->shapes = table;
    t->shapes_size = size;
}

void tt_forget_shapes(struct transtab *t) {
    tt_free(t, t->shapes, t->shapes_size * sizeof *t->shapes);
    t->shapes = NULL;
    t->shapes_size = t->n_shapes = 0;
}

uint32_t tt_describe(struct transtab *t, const struct ip_insn *in) {
    uint32_t index = t->meta->desc_used / (uint32_t)sizeof *in;
    memcpy(t->desc + t->meta->desc_used, in, sizeof *in);
    t->meta->desc_used += (uint32_t)sizeof *in;
    return index;
}

uint32_t tt_shape(struct transtab *t, const struct ip_insn *in) {
    struct ip_insn shape;
    memcpy(&shape, in, sizeof shape);
    shape.pc = 0;
    if (shape.flow == IP_F_JCC) shape.target -= in->pc;
    /* A client request is a marker of more bytes. */
    if (shape.len < sizeof shape.bytes) memset(shape.bytes + shape.len, 0, sizeof shape.bytes - shape.len);
    if (2 * t->n_shapes >= t->shapes_size) grow(t);
    uint32_t h = home(&shape, t->shapes_size);
    for (; t->shapes[h]; h = (h + 1) & (t->shapes_size - 1))
        if (memcmp(shape_at(t, t->shapes[h] - 1), &shape, sizeof shape) == 0) return t->shapes[h] - 1;
    t->n_shapes++;
    t->shapes[h] = tt_describe(t, &shape) + 1;
    return t->shapes[h] - 1;
}
