/* ioctl(2): requests with lists and transfers. */
#ifndef INTERPOSE_MEMCHECK_IOCTL_LISTS_H
#define INTERPOSE_MEMCHECK_IOCTL_LISTS_H

#include "tools/memcheck/client/syscall_check.h"

/* What the request reads and may write (in), or has written; false: it is none of these. */
bool ioctl_list(struct call *c, bool in);

#endif
