/* The program's descriptors, followed for --track-fds and numbered for --modify-fds (descriptors.c, new_fds.c). */
#ifndef INTERPOSE_DESCRIPTORS_H
#define INTERPOSE_DESCRIPTORS_H

#include "runtime/syscalls/syscall.h"

#define RT_FOLLOW_FDS (IP_C_TRACK_FDS | IP_C_MOVE_FDS | IP_C_MOVE_ALL_FDS)

/* About to make a call; it was made: the result to go on with. */
void rt_fds_before(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6]);
long rt_fds_after(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6], long result);

/* See each descriptor that a successful call has made: where it says the number (0: in the result), and the number
 * itself.  The callback's answer takes the number's place. */
typedef int fd_seen(struct tstate *ts, int fd);
long fd_each_new(struct tstate *ts, long nr, const struct rt_syscall_info *info, const u64 args[6], long result,
                 fd_seen *seen);
/* Those that the messages of sendmsg or sendmmsg hand on (SCM_RIGHTS). */
void fd_each_sent(struct tstate *ts, long nr, const u64 args[6], fd_seen *seen);
/* The same file under another number, which the program goes on with (--modify-fds). */
fd_seen fd_renumbered;

#endif
