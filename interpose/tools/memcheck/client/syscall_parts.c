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

/* The number at an offset of the argument's structure; 0 where nothing is. */
static u64 number_at(const char **p, u64 structure) {
    u64 value = 0, at = number(p), bytes = 4;
    if (**p == ':') (*p)++, bytes = number(p);
    if (bytes > sizeof value || rt_copy_from(&value, structure + at, bytes) < 0) return 0;
    return value;
}

static u64 count(const char **p, u64 structure, const u64 args[6], u64 result) {
    if (**p == '[') {
        (*p)++;
        u64 n = number_at(p, structure);
        if (**p == ']') (*p)++;
        return n;
    }
    if (**p != '$') return number(p);
    if (*++*p != 'r') return args[number(p) % 6];
    (*p)++;
    return result;
}

static u64 size(const char **p, u64 structure, const u64 args[6], u64 result) {
    u64 n = count(p, structure, args, result);
    if (**p == '<') {
        (*p)++;
        u64 most = count(p, structure, args, result);
        if (most < n) n = most;
    }
    if (**p != '/' && **p != '*') return n;
    char by_what = *(*p)++;
    u64 by = number(p), product;
    if (by_what == '*') return __builtin_mul_overflow(n, by, &product) ? n : product;
    return by ? n / by + (n % by != 0) : n;
}

bool parts_next(const char **cursor, const u64 args[6], u64 result, struct part *out) {
    const char *p = *cursor;
    u32 n = 0;
    if (*p == 0) return false;
    *out = (struct part){.what = *p++};
    out->arg = (u32)number(&p) % 6;
    u64 structure = args[out->arg];
    out->at = structure;
    if (*p == '~') p++, out->away = structure == 0;
    if (*p == '+') p++, out->at += number(&p);
    if (*p == '@') {
        u64 pointer = 0;
        p++;
        out->away |= rt_copy_from(&pointer, out->at, sizeof pointer) < 0 || !pointer;
        out->pointed = true;
        out->at = pointer + number(&p);
    }
    if (*p == ',') p++, out->size = size(&p, structure, args, result);
    while (*p == '?' || *p == '!') {
        bool set = *p++ == '?';
        u8 byte = 0;
        u64 at = number(&p), mask = *p == '&' ? (p++, number(&p)) : 255;
        if (rt_copy_from(&byte, structure + at, 1) < 0 || ((byte & mask) != 0) != set) out->away = true;
    }
    if (*p == ' ') p++;
    for (; *p && *p != ';'; p++)
        if (n + 1 < sizeof out->name) out->name[n++] = *p;
    *cursor = *p == ';' ? p + 1 : p;
    return true;
}
