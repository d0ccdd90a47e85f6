/* interpose/jit/describe.c in an ordinary process: instructions of one flow, which only have a pc and bytes. */
#include <stdlib.h>
#include <string.h>

#include "jit/transtab.h"

void *tt_alloc(struct transtab *t, size_t n, size_t size) {
    (void)t;
    return calloc(n, size);
}
void tt_free(struct transtab *t, void *old, size_t bytes) {
    (void)t, (void)bytes;
    free(old);
}

static struct ip_meta meta;
static struct transtab table = {.meta = &meta};

void begin(void *room) {
    tt_forget_shapes(&table);
    table.desc = room;
    meta.desc_used = 0;
}

unsigned insn_bytes(void) { return sizeof(struct ip_insn); }

uint32_t shape(uint64_t pc, const uint8_t *bytes, int len, int flow, uint64_t target, uint64_t rip_target) {
    struct ip_insn in = {.pc = pc, .len = (uint8_t)len, .flow = (uint8_t)flow, .target = target};
    memset(in.bytes, (int)pc, sizeof in.bytes); /* whatever follows it */
    memcpy(in.bytes, bytes, (size_t)len < sizeof in.bytes ? (size_t)len : sizeof in.bytes);
    in.mem.rip_target = rip_target;
    return tt_shape(&table, &in);
}

uint64_t target_of(uint32_t index) { return ((const struct ip_insn *)(const void *)table.desc)[index].target; }
