/* Whose memory tt_peek reads. */
#ifndef INTERPOSE_JIT_PEEK_H
#define INTERPOSE_JIT_PEEK_H

#include <sys/types.h>

/* The process, and the thread of it that asks, which is there if its first one has left. */
void peek_at(pid_t pid, pid_t tid);
/* By its /proc/PID/mem; 0: by its number. */
void peek_by(int fd);

#endif
