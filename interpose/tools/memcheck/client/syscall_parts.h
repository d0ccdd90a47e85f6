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
    char what;     /* < > = w d f s r - */
    bool away;     /* what it leads to is not there, or its condition does not hold */
    bool pointed;  /* it is not in the argument's structure, which leads to it */
    u32 arg;       /* the argument's number */
    u64 at, size;  /* where it leads to */
    char name[96]; /* "": the argument has none of its own */
};
/* The next part at *cursor, and advance; false at the end.  `result` is the call's, once it is known. */
bool parts_next(const char **cursor, const u64 args[6], u64 result, struct part *out);

#endif
