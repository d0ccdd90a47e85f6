/* The rows of arguments.def. */
#ifndef INTERPOSE_SYSCALL_PARTS_H
#define INTERPOSE_SYSCALL_PARTS_H

#include "runtime/base/rt.h"

struct parts {
    u16 nr;
    short selector; /* argument, or -1 */
    u32 value;
    const char *parts;
};
/* The row of a call; NULL if there is none. */
const struct parts *parts_of(long nr, const u64 args[6]);

struct part {
    char what;     /* < > = s r - */
    u32 arg;       /* the argument's number */
    u64 at, size;  /* behind it */
    char name[80]; /* "": the argument has none of its own */
};
/* The next part at *cursor, and advance; false at the end. */
bool parts_next(const char **cursor, const u64 args[6], struct part *out);

#endif
