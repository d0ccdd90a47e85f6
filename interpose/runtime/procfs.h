/* Files of /proc/self that are not passed through: names (procfs.c) and texts
 * (procfs_text.c). */
#ifndef INTERPOSE_PROCFS_H
#define INTERPOSE_PROCFS_H

#include "rt.h"

enum proc_leaf {
    PROC_OTHER, PROC_EXE, PROC_FD, PROC_MAPS, PROC_SMAPS, PROC_STATUS, PROC_AUXV, PROC_CMDLINE, PROC_ENVIRON
};

struct proc_text {
    char *at;
    u64 len, room;
};
/* The text of MAPS, SMAPS or STATUS as a native run has it; false: not to be had. */
bool proc_text(struct tstate *ts, enum proc_leaf what, struct proc_text *out);
void proc_text_free(struct proc_text *t);

#endif
