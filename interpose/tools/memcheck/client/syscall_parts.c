/* Reads the notation of arguments.def. */
#include "tools/memcheck/client/syscall_parts.h"

#define SYS_semctl 66
#define IPC_64     0x100u
#define MAX_CALLS  512

#define PART(nr, selector, value, parts) {nr, selector, value, parts},
static const struct parts rows[] = {
#include "tools/memcheck/client/arguments.def"
};
#undef PART

/* The first row of each call, whose rows stand together; 1 + its index, or 0. */
static const u16 *index_of_rows(void) {
    static u16 first[MAX_CALLS];
    static u32 made;
    if (__atomic_load_n(&made, __ATOMIC_ACQUIRE)) return first;
    for (u32 i = sizeof rows / sizeof *rows; i > 0; i--) first[rows[i - 1].nr] = (u16)i; /* the same whoever does it */
    __atomic_store_n(&made, 1, __ATOMIC_RELEASE);
    return first;
}

const struct parts *parts_of(long nr, const u64 args[6]) {
    u32 at = nr >= 0 && nr < MAX_CALLS ? index_of_rows()[nr] : 0;
    if (at == 0) return NULL;
    for (const struct parts *r = rows + at - 1; r < rows + sizeof rows / sizeof *rows && r->nr == nr; r++) {
        if (r->selector < 0) return r;
        u32 value = (u32)args[r->selector];
        if (nr == SYS_semctl) value &= ~IPC_64;
        if (value == r->value) return r;
    }
    return NULL;
}

static u64 number(const char **p) {
    u64 n = 0;
    for (; **p >= '0' && **p <= '9'; (*p)++) n = n * 10 + (u64)(**p - '0');
    return n;
}

static u64 size(const char **p, const u64 args[6]) {
    if (**p != '$') return number(p);
    (*p)++;
    u64 n = args[number(p) % 6];
    if (**p != '/') return n;
    (*p)++;
    u64 by = number(p);
    return by ? n / by + (n % by != 0) : n;
}

bool parts_next(const char **cursor, const u64 args[6], struct part *out) {
    const char *p = *cursor;
    u32 n = 0;
    if (*p == 0) return false;
    *out = (struct part){.what = *p++};
    out->arg = (u32)number(&p) % 6;
    if (*p == '+') p++, out->at = number(&p);
    if (*p == ',') p++, out->size = size(&p, args);
    if (*p == ' ') p++;
    for (; *p && *p != ';'; p++)
        if (n + 1 < sizeof out->name) out->name[n++] = *p;
    *cursor = *p == ';' ? p + 1 : p;
    return true;
}
